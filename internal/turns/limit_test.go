package turns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// computes is work that computes for so long, or until it is ended.
func computes(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return errors.New("the process was killed") // as a process reports it
	}
}

// attempt enters the gate, and runs work of that size. It returns for how long the work ran.
func attempt(t *testing.T, g *Gate, namespace string, bytes int64, work func(context.Context, *Allowance) error) (time.Duration, error) {
	t.Helper()
	leave, err := g.Enter(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	began := time.Now()
	err = g.Limited(t.Context(), namespace, bytes, work)
	return time.Since(began), err
}

// crowd lets another namespace use the gate for a second again and again.
func crowd(t *testing.T, g *Gate) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			leave, err := g.Enter(ctx, "other")
			if err != nil {
				return
			}
			<-time.After(time.Second)
			leave()
		}
	}()
	return func() { cancel(); <-ended }
}

// A crafted object kept the one slot of all namespaces for hours, so that the restores of others waited.
func TestWorkEndsAfterTheTimeForItsBytesIfOthersWait(t *testing.T) {
	for bytes, most := range map[int64]time.Duration{0: time.Minute, 1 << 30: time.Minute + 256*time.Second} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate(1)
			defer crowd(t, g)()
			took, err := attempt(t, g, "crafted", bytes, func(ctx context.Context, _ *Allowance) error { return computes(ctx, 24*time.Hour) })
			if !errors.Is(err, ErrOthersWaited) || took < most || took > most+2*time.Second {
				t.Errorf("work on %d bytes ended after %s: %v", bytes, took, err)
			}
			if took, err = attempt(t, g, "honest", bytes, func(ctx context.Context, _ *Allowance) error { return computes(ctx, most-time.Second) }); err != nil {
				t.Errorf("honest work on %d bytes ended after %s: %v", bytes, took, err)
			}
		})
	}
}

// While other namespaces restored, the operator ended each attempt of a large restore on a slow node, so that it never succeeded.
func TestHonestWorkThatWasEndedSucceedsInALaterAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		defer crowd(t, g)()
		large := func(ctx context.Context, _ *Allowance) error { return computes(ctx, 7*time.Minute) }
		small := func(ctx context.Context, _ *Allowance) error { return computes(ctx, time.Second) }
		for n := 1; ; n++ {
			took, err := attempt(t, g, "slow", 4<<20, large)
			if err == nil {
				break
			}
			if n == 4 || !errors.Is(err, ErrOthersWaited) {
				t.Fatalf("attempt %d ended after %s: %v", n, took, err)
			}
			if _, err := attempt(t, g, "slow", 1<<20, small); err != nil { // it does not take the time of the large one away
				t.Fatal(err)
			}
		}
		if took, err := attempt(t, g, "slow", 0, func(ctx context.Context, _ *Allowance) error { return computes(ctx, time.Hour) }); !errors.Is(err, ErrOthersWaited) || took > 2*time.Minute {
			t.Errorf("after its success the namespace has %s: %v", took, err)
		}
	})
}

// A namespace whose work never ends had more time at each attempt, until the others waited for hours again.
func TestWorkThatNeverEndsGetsEightTimesTheTimeAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		defer crowd(t, g)()
		for n := range 10 {
			took, err := attempt(t, g, "crafted", 0, func(ctx context.Context, _ *Allowance) error { return computes(ctx, 24*time.Hour) })
			if !errors.Is(err, ErrOthersWaited) || took > 8*time.Minute+2*time.Second {
				t.Errorf("attempt %d ended after %s: %v", n, took, err)
			}
		}
		<-time.After(2 * endsKept)
		_, _ = attempt(t, g, "later", 0, func(ctx context.Context, _ *Allowance) error { return computes(ctx, 24*time.Hour) })
		if len(g.ended.of) != 1 {
			t.Errorf("%d namespaces are remembered", len(g.ended.of))
		}
	})
}

// The time did not count in which work waited for a server, so the server of a tenant decided for how long the one slot of all namespaces was held.
func TestTheTimeInWhichWorkWaitsForAServerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		defer crowd(t, g)()
		took, err := attempt(t, g, "far", 0, func(ctx context.Context, _ *Allowance) error {
			for range 1000 {
				if err := computes(ctx, 1900*time.Millisecond); err != nil { // a read
					return err
				}
			}
			return nil
		})
		if !errors.Is(err, ErrOthersWaited) || took > timeBase+3*time.Second {
			t.Errorf("it ended after %s: %v", took, err)
		}
	})
}

// Work that got more bytes while it ran got more time for each of them, and kept the slot of all namespaces for a day.
func TestWorkThatGetsMoreBytesEndsAfterHalfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		defer crowd(t, g)()
		for n := range 6 {
			took, err := attempt(t, g, "crafted", 0, func(ctx context.Context, a *Allowance) error {
				for range 2000 {
					a.Add(256 << 20)
					if err := computes(ctx, 50*time.Second); err != nil {
						return err
					}
				}
				return nil
			})
			if most := 30 * time.Minute << min(n, 3); !errors.Is(err, ErrOthersWaited) || took > most+2*time.Second {
				t.Errorf("attempt %d ended after %s: %v", n+1, took, err)
			}
		}
	})
}

// A restore test ended for a second test of another namespace, which waited only because that namespace had its share already.
func TestWorkIsNotEndedForANamespaceThatHasItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(3)
		for range 5 {
			enter(t, g, "greedy", 2*time.Hour, func() {})
		}
		if took, err := attempt(t, g, "honest", 0, func(ctx context.Context, _ *Allowance) error { return computes(ctx, time.Hour) }); err != nil {
			t.Errorf("it ended after %s: %v", took, err)
		}
		<-time.After(24 * time.Hour)
	})
}
