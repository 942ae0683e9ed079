package follower

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// aMinute is how often a copy must have moved something while others wait for its memory.
const aMinute = time.Minute

// yielding returns a context that ends with turns.ErrOthersWaited if the copy moves too little in a minute, and others wait for its memory at the end of it. What
// is read from the first location counts, and what requests to the second one send.
func yielding(ctx context.Context, body *checkedLink, held Held) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := func() { end(context.Canceled) }
	if held.Crowded == nil {
		return ctx, stop
	}
	floor := cmp.Or(held.Floor, Slowest)
	ctx, sent := pace.Counted(ctx)
	go panics.Caught(func() {
		for before := int64(0); ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(aMinute):
			}
			now := body.size.Load() + sent.Bytes()
			if moved := now - before; moved < floor*int64(aMinute/time.Second) && held.Crowded() {
				end(fmt.Errorf("%w, and this copy moved %d KiB in a minute, while the minimum is %d KiB a second", turns.ErrOthersWaited, moved>>10, floor>>10))
				return
			}
			before = now
		}
	}, end)()
	return ctx, stop
}
