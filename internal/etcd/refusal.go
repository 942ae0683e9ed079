package etcd

import (
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Refusal is why etcd's authentication refuses a request.
type Refusal string

// The refusals.
const (
	// NotRefused means that authentication is not why a request failed.
	NotRefused Refusal = ""
	// RefusedUnknown means that etcd does not know the user: the client sent none, or a token that has expired.
	RefusedUnknown Refusal = "unknown user"
	// RefusedPassword means that the user does not exist, or has another password.
	RefusedPassword Refusal = "wrong password"
	// RefusedRole means that the user lacks the role that the request needs.
	RefusedRole Refusal = "missing role"
)

var refusals = map[error]Refusal{
	rpctypes.ErrUserEmpty:        RefusedUnknown,
	rpctypes.ErrInvalidAuthToken: RefusedUnknown,
	rpctypes.ErrAuthOldRevision:  RefusedUnknown,
	rpctypes.ErrAuthFailed:       RefusedPassword,
	rpctypes.ErrPermissionDenied: RefusedRole,
	rpctypes.ErrUserNotFound:     RefusedRole, // the user in a certificate
}

// plainRefusals are refusals that have no code: of a password for a user without one, and of requests for maintenance
// by etcd 3.5 and older.
var plainRefusals = map[string]Refusal{
	"auth: user name is empty":        RefusedUnknown,
	"auth: invalid auth token":        RefusedUnknown,
	"auth: revision in header is old": RefusedUnknown,
	"auth: permission denied":         RefusedRole,
	"auth: user not found":            RefusedRole,

	"auth: authentication failed, password was given for no password user": RefusedPassword,
}

// RefusalOf returns why etcd's authentication refuses a request. etcd confirms a linearizable read with a quorum before it
// looks at permissions, so a refusal of such a read proves that a quorum answers.
func RefusalOf(err error) Refusal {
	if err == nil {
		return NotRefused
	}
	for known, refusal := range refusals {
		if errors.Is(err, known) || errors.Is(rpctypes.Error(unwrapped(err)), known) {
			return refusal
		}
	}
	return plainRefusals[rpctypes.ErrorDesc(unwrapped(err))]
}
