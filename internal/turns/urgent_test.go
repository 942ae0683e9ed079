package turns

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// holds takes the slot for that long, and returns when it was admitted, and its error.
func holds(ctx context.Context, g *Gate, namespace string, bytes int64, d time.Duration) (admitted time.Time, err error) {
	leave, err := g.Enter(ctx, namespace)
	if err != nil {
		return admitted, err
	}
	defer leave()
	admitted = time.Now()
	return admitted, g.Limited(ctx, namespace, bytes, func(ctx context.Context, _ *Allowance) error { return computes(ctx, d) })
}

// A safety snapshot waited for four hours, and its restore continued without it. The data since the last backup was in no snapshot.
func TestWorkEndsAfterMinutesIfAnUrgentCallerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		for range 3 {
			g.ended.record("crafted", 8<<30, "")
		}
		ended := make(chan error, 1)
		began := time.Now()
		go func() { _, err := holds(t.Context(), g, "crafted", 8<<30, 24*time.Hour); ended <- err }()
		synctest.Wait()
		admitted, err := holds(Urgent(t.Context()), g, "safety", 1<<30, 10*time.Second)
		if waited := admitted.Sub(began); err != nil || waited > urgentWaitMost+2*time.Second {
			t.Errorf("the urgent caller waited %s: %v", waited, err)
		}
		if err := <-ended; !errors.Is(err, ErrOthersWaited) || !strings.Contains(err.Error(), "a safety snapshot waits") {
			t.Errorf("error %v", err)
		}
		if g.ended.of["crafted"].count != 4 {
			t.Errorf("%d ends are counted: honest work that has ended needs more time later", g.ended.of["crafted"].count)
		}
	})
}

// Two clusters were restored at the same time. Each of their large safety snapshots ended the other one after a minute, so neither was taken.
func TestUrgentWorkHasTheTimeForItsBytesIfAnotherUrgentCallerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		ended := make(chan error, 2)
		for _, namespace := range []string{"a", "b"} {
			go func() { _, err := holds(Urgent(t.Context()), g, namespace, 8<<30, 3*time.Minute); ended <- err }()
		}
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Error(err)
		}
		go func() { _, err := holds(Urgent(t.Context()), g, "crafted", 8<<30, 24*time.Hour); ended <- err }()
		synctest.Wait()
		began := time.Now()
		if admitted, err := holds(Urgent(t.Context()), g, "a", 0, time.Second); err != nil || admitted.Sub(began) > urgentMost+2*time.Second {
			t.Errorf("an urgent caller waited %s for a crafted one that is urgent, too: %v", admitted.Sub(began), err)
		}
		<-ended
	})
}

// A tenant whose safety snapshots are checked without end kept the slot from the snapshots and restores of all others.
func TestUrgentCallersDoNotKeepTheOthersFromTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		ctx, cancel := context.WithCancel(t.Context())
		for _, namespace := range []string{"a", "b", "c"} {
			go func() {
				for ctx.Err() == nil {
					_, _ = holds(Urgent(ctx), g, namespace, 8<<30, 24*time.Hour)
				}
			}()
		}
		synctest.Wait()
		for range 5 {
			began := time.Now()
			if admitted, err := holds(t.Context(), g, "other", 1<<30, 10*time.Second); err != nil || admitted.Sub(began) > 2*urgentAgain+4*time.Second {
				t.Errorf("another namespace waited %s: %v", admitted.Sub(began), err)
			}
		}
		cancel()
	})
}

// waits is a slot that records whether work waits for it.
type waits struct{ waited *bool }

func (w waits) Leave()                               {}
func (w waits) Return(_ context.Context, waits bool) { *w.waited = waits }

// A safety snapshot that had its space waited for a worker until its 14 minutes had passed.
func TestUrgentWorkDoesNotWaitForItsSlotAgain(t *testing.T) {
	for name, ctx := range map[string]context.Context{"urgent": Urgent(t.Context()), "other": t.Context()} {
		waited := false
		LeaveForMany(WithSlot(ctx, waits{&waited}))()
		if waited != (name == "other") {
			t.Errorf("%s work waits for its slot: %t", name, waited)
		}
	}
}
