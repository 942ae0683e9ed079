package etcd

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrCorrupt is in the chain when a member refuses requests because a CORRUPT alarm is on.
var ErrCorrupt = rpctypes.ErrCorrupt

// Cause says in stable words why a member did not answer: the same state gives the same words at every look, so that
// a status that holds them changes only when the state does.
func Cause(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, ErrCorrupt), strings.Contains(text, "corrupt cluster"):
		return "it refuses requests, because a CORRUPT alarm is on"
	case strings.Contains(text, "authentication handshake failed"):
		_, why, _ := strings.Cut(text, "authentication handshake failed")
		why, _, _ = strings.Cut(why, ": current time") // which is another at every look
		return "the TLS handshake failed" + strings.TrimRight(why, `"`)
	case errors.Is(err, rpctypes.ErrNoLeader), errors.Is(err, rpctypes.ErrLeaderChanged), errors.Is(err, rpctypes.ErrTimeout),
		errors.Is(err, rpctypes.ErrTimeoutDueToLeaderFail), errors.Is(err, rpctypes.ErrTimeoutDueToConnectionLost):
		return "no quorum stands behind it"
	case errors.Is(err, context.DeadlineExceeded), status.Code(unwrapped(err)) == codes.DeadlineExceeded, status.Code(unwrapped(err)) == codes.Unavailable:
		return "it does not answer"
	}
	return text
}

// unwrapped is the error at the end of the chain, which has gRPC's code.
func unwrapped(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
