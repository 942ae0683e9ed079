package etcd

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// ErrCorrupt is in the error chain if a member refuses a request because a CORRUPT alarm is on.
var ErrCorrupt = rpctypes.ErrCorrupt

// Cause returns why a member did not answer. The same state always gives the same text, so that a status with this text
// is only written when the state changes.
func Cause(err error) string {
	text := err.Error()
	switch {
	case RefusalOf(err) != NotRefused:
		return "it refuses the operator for lack of permission (" + unwrapped(err).Error() + ")"
	case errors.Is(err, ErrLoginTimeout):
		return "it cannot reach a quorum, which it needs to authenticate the operator, or it takes too long to check the password (etcd flag --bcrypt-cost)"
	case errors.Is(err, ErrCorrupt), strings.Contains(text, "corrupt cluster"):
		return "it refuses requests because a CORRUPT alarm is on"
	case strings.Contains(text, "authentication handshake failed"):
		_, why, _ := strings.Cut(text, "authentication handshake failed")
		why, _, _ = strings.Cut(why, ": current time") // the time differs in each error
		return "the TLS handshake failed" + strings.TrimRight(why, `"`)
	case errors.Is(err, rpctypes.ErrNoLeader), errors.Is(err, rpctypes.ErrLeaderChanged), errors.Is(err, rpctypes.ErrTimeout),
		errors.Is(err, rpctypes.ErrTimeoutDueToLeaderFail), errors.Is(err, rpctypes.ErrTimeoutDueToConnectionLost):
		return "it cannot reach a quorum"
	case errors.Is(err, context.DeadlineExceeded), status.Code(unwrapped(err)) == codes.DeadlineExceeded, status.Code(unwrapped(err)) == codes.Unavailable:
		return "it does not answer"
	}
	return text
}

// unwrapped returns the last error of the chain, which holds gRPC's code.
func unwrapped(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// Answer returns etcd's own words of an error, without what the client and the operator added. It is empty if etcd did not answer.
func Answer(err error) string {
	var answer rpctypes.EtcdError
	if errors.As(err, &answer) {
		return answer.Error()
	}
	return ""
}

// ErrLoginTimeout is in the error chain if a member answers, but did not check the password in time. It needs a quorum and
// much CPU for that.
var ErrLoginTimeout = errors.New("the member did not check the password in time")
