package turns

import "context"

// Slot is what a piece of work holds while it runs, for example a worker. The work leaves it while it waits for something else, so that work
// which does not need that other thing gets the slot.
type Slot interface {
	// Leave gives the slot to others.
	Leave()
	// Return counts the work again. If wait is true, it first waits until the slot is free, or until ctx ends.
	Return(ctx context.Context, wait bool)
}

type slotKey struct{}

// WithSlot returns the context of work that holds a slot. Gate, Budget and the spool leave the slot while the work waits there.
func WithSlot(ctx context.Context, s Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

// Stay returns a context for a wait of seconds, in which the work keeps its slot.
func Stay(ctx context.Context) context.Context {
	return context.WithValue(ctx, slotKey{}, nil)
}

// Leave leaves the slot of a context, if it has one. The caller calls back when it has what it waited for. Few have that at the same time, so the
// work runs on at once, even if the slot was given to others.
func Leave(ctx context.Context) (back func()) { return leave(ctx, false) }

// LeaveForMany is Leave for a wait that may end for many at the same time. Then back waits for the slot, so that few of them run.
// Urgent work runs on at once.
func LeaveForMany(ctx context.Context) (back func()) { return leave(ctx, true) }

func leave(ctx context.Context, wait bool) (back func()) {
	s, is := ctx.Value(slotKey{}).(Slot)
	if !is {
		return func() {}
	}
	s.Leave()
	return func() { s.Return(ctx, wait && !urgent(ctx)) }
}
