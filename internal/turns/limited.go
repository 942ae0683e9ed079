package turns

import (
	"context"
	"errors"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// Limited runs work in the slot that the caller has entered. bytes is the size of what it works on, as this process has measured it. If the
// work holds the slot for longer than its bytes allow, it ends as soon as another namespace waits for the slot, and the error is
// ErrOthersWaited. All time counts, also that in which the work waits for a server: a tenant may have named that server. The next attempt of the
// namespace may then take twice as long, up to eight times. While an urgent caller waits, work ends after a minute, see Urgent.
func (g *Gate) Limited(ctx context.Context, namespace string, bytes int64, work func(context.Context, *Allowance) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	before := g.ended.before(namespace)
	a := &Allowance{bytes: bytes, urgent: urgent(ctx), factor: before.factor(), before: before, began: time.Now()}
	go panics.Caught(func() { g.watch(ctx, end, namespace, a) }, end)()
	err := work(ctx, a)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrOthersWaited) {
		g.ended.record(namespace, a.size(), a.endedFor())
		return cause // whatever an ended process has reported
	}
	if err == nil {
		g.ended.forget(namespace, a.size())
	}
	return err
}

// watch ends work that has used up its time, but only while others wait for its slot.
func (g *Gate) watch(ctx context.Context, end context.CancelCauseFunc, namespace string, a *Allowance) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(min(a.left(), a.leftForUrgent()), time.Second)):
		}
		if why := g.why(namespace, a); why != nil {
			end(why)
			return
		}
	}
}
