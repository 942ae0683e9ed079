package turns

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A safety snapshot waits for the one in the slot, and for one other check that has its turn after that. With the seven minutes that this one gets after it was
// ended three times for the same namespace, both took 13 of the 14 minutes, and the restore continued without its safety snapshot. It has been ended for that
// namespace hours before: a tenant repeats it all day.
func TestASafetySnapshotHasTimeLeftAfterTheTwoThatCameBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		for range urgentEnds {
			g.ended.record("tenant", 8<<30, "other")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = holds(ctx, g, "tenant", 1<<10, time.Second) }() // while it runs, the others arrive
		synctest.Wait()
		go func() { _, _ = holds(Urgent(ctx), g, "tenant", 8<<30, 24*time.Hour) }()
		synctest.Wait()
		go func() {
			for ctx.Err() == nil { // readings of the tenant, in another object
				_, _ = holds(ctx, g, "tenant", 8<<30, 24*time.Hour)
			}
		}()
		<-time.After(2 * time.Second)
		began := time.Now()
		if admitted, err := holds(Urgent(t.Context()), g, "other", 1<<30, 10*time.Second); err != nil || admitted.Sub(began) > urgentAgain+urgentWaitMost+4*time.Second {
			t.Errorf("the check of a safety snapshot waited %s: %v", admitted.Sub(began), err)
		}
		cancel()
	})
}
