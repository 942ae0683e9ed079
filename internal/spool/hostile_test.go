package spool

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
)

// A size that another party announces was negative, and the spool then gave out more than it has: the kubelet evicts the operator.
func TestASizeThatOverflowedReservesNothing(t *testing.T) {
	for name, limit := range map[string]int64{"with a limit": 16 * mib, "without": 0} {
		s := New(t.TempDir(), Options{Limit: limit})
		for _, bytes := range []int64{-1, -(1 << 40), math.MinInt64, math.MaxInt64} {
			if _, err := s.Of("evil").Reserve(t.Context(), bytes); !errors.Is(err, ErrTooSmall) {
				t.Errorf("%s, %d bytes: %v", name, bytes, err)
			}
			if _, err := s.Of("evil").Hold(t.Context(), bytes); !errors.Is(err, ErrTooSmall) {
				t.Errorf("%s, held, %d bytes: %v", name, bytes, err)
			}
		}
		share, err := s.Of("evil").Reserve(t.Context(), mib)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{share.Grow(-1, 0), share.Grow(math.MaxInt64, 0), share.Beside(mib).Grow(math.MaxInt64, 0)} {
			if !errors.Is(err, ErrTooSmall) {
				t.Errorf("%s: grown, error %v", name, err)
			}
		}
		if used, _, _ := s.Usage(); used != mib {
			t.Errorf("%s: %d bytes are reserved", name, used)
		}
	}
}

// A job announced 1 KiB, overtook a large one that waits, and grew into its space. Then nobody was admitted until it ended, a day later.
func TestAJobThatHasOvertakenOneThatWaitsDoesNotGrowIntoItsSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		ran := q.reserve("a", "a", 5*mib)
		large := q.reserve("honest", "large", 12*mib)
		evil, err := q.spool.Of("evil").Reserve(t.Context(), 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		if err := evil.Grow(7*mib, 0); !errors.Is(err, ErrFull) {
			t.Errorf("it grew into the space of the one that waits: %v", err)
		}
		if err := evil.Grow(2*mib, 0); err != nil {
			t.Errorf("it did not grow beside the one that waits: %v", err)
		}
		ran()
		if !q.runs("large") {
			t.Errorf("the large one still waits: %q", q.spool.Of("honest").Why())
		}
		evil.Release()
		synctest.Wait()
		large()
	})
}

// A job that ran before the other one waited grows as it needs, because the other one waits for its end anyway.
func TestAJobThatRanBeforeMayGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		first, err := q.spool.Of("a").Reserve(t.Context(), 4*mib)
		if err != nil {
			t.Fatal(err)
		}
		large := q.reserve("honest", "large", 13*mib)
		if err := first.Grow(7*mib, 0); err != nil {
			t.Error(err)
		}
		first.Release()
		synctest.Wait()
		large()
	})
}
