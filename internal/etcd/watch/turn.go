package watch

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (
	// tries is how many members are asked for one answer.
	tries = 3
	// nextTry is after what time without an answer the next member is asked, too.
	nextTry = 500 * time.Millisecond
)

// answered is what one member has answered.
type answered[T any] struct {
	answer T
	err    error
}

// inTurn makes a request for at most requestTimeout, and returns the first answer. A member that stops may have accepted a request and never answer
// it, and a request may be lost with a leader. So the client sends it to the next member after nextTry, or at once after an error. A slow member
// may still answer then.
func inTurn[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel() // ends the other requests
	answers := make(chan answered[T], tries)
	ask := func() {
		go panics.Caught(func() {
			answer, err := request(ctx)
			answers <- answered[T]{answer, err}
		}, func(err error) { answers <- answered[T]{err: err} })()
	}
	ask()
	next := time.NewTicker(nextTry)
	defer next.Stop()
	for asked, failed := 1, 0; ; {
		select {
		case a := <-answers:
			if failed++; a.err == nil || final(a.err) || failed == tries {
				return a.answer, a.err
			}
			if asked < tries {
				asked++
				ask()
			}
		case <-next.C:
			if asked < tries {
				asked++
				ask()
			}
		}
	}
}

// final reports whether each member would give the same answer.
func final(err error) bool {
	return etcd.RefusalOf(err) != etcd.NotRefused || errors.Is(err, rpctypes.ErrLeaseNotFound) || status.Code(err) == codes.Unimplemented
}
