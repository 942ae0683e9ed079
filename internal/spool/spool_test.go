package spool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

const mib = 1 << 20

// on returns a spool of 16 MiB, of which one namespace gets 15 and all get 15.5, on a disk with that much free space.
func on(free int64) *Spool {
	s := New("dir", Options{Limit: 16 * mib, KeepFree: 10})
	s.space = func(string) (int64, int64, error) { return free, 1000 * mib, nil }
	return s
}

func TestJobsWaitUntilTheSpoolHasRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(900 * mib)
		first, err := s.Of("a").Reserve(t.Context(), 10*mib)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		for _, job := range []struct {
			name string
			size int64
		}{{"large", 10 * mib}, {"small", 1 * mib}} {
			go func() {
				share, err := s.Of("a").Reserve(t.Context(), job.size)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, job.name)
				mu.Unlock()
				share.Release()
			}()
			synctest.Wait()
		}
		if _, _, waiting := s.Usage(); waiting != 2 || len(order) > 0 {
			t.Errorf("%d jobs wait, admitted %v: a small job overtook a large one", waiting, order)
		}
		first.Release()
		synctest.Wait()
		if used, _, _ := s.Usage(); used != 0 || len(order) != 2 {
			t.Errorf("admitted %v, %d bytes are still reserved", order, used)
		}
	})
}

func TestAJobThatNeverFitsIsRefusedAtOnce(t *testing.T) {
	for name, test := range map[string]struct{ free, size int64 }{
		"larger than the volume":                     {900 * mib, 16 * mib},
		"larger than the free space of the disk":     {8 * mib, 9 * mib},
		"it would fill the disk of the node to 95 %": {104 * mib, 5 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := on(test.free).Of("a").Reserve(t.Context(), test.size); !errors.Is(err, ErrTooSmall) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAShareGrowsOnlyIntoFreeSpace(t *testing.T) {
	s := on(900 * mib)
	a, err := s.Of("a").Reserve(t.Context(), 5*mib)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Of("b").Reserve(t.Context(), 5*mib)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Grow(10*mib, 0); err != nil {
		t.Error(err)
	}
	if err := b.Grow(6*mib, 0); !errors.Is(err, ErrFull) {
		t.Errorf("error %v", err)
	}
	a.Release()
	b.Release()
	if used, _, _ := s.Usage(); used != 0 {
		t.Errorf("%d bytes are still reserved", used)
	}
}

func TestAnEndedJobDoesNotBlockThoseBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(900 * mib)
		first, err := s.Of("a").Reserve(t.Context(), 8*mib)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { _, err := s.Of("b").Reserve(ctx, 10*mib); left <- err }()
		synctest.Wait()
		admitted := make(chan error, 1)
		go func() { _, err := s.Of("c").Reserve(t.Context(), 6*mib); admitted <- err }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if err := <-admitted; err != nil {
			t.Error(err)
		}
		first.Release()
	})
}

// Without this, one database that is larger than the spool volume delays the snapshots of all other EtcdBackups, as long
// as there is always one job that runs.
func TestAJobThatNeverFitsDoesNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(900 * mib)
		first, err := s.Of("a").Reserve(t.Context(), mib)
		if err != nil {
			t.Fatal(err)
		}
		never, small := make(chan error, 1), make(chan error, 1)
		go func() { _, err := s.Of("a").Reserve(t.Context(), 100*mib); never <- err }()
		synctest.Wait()
		go func() { _, err := s.Of("a").Reserve(t.Context(), mib); small <- err }()
		synctest.Wait()
		select {
		case err := <-never:
			if !errors.Is(err, ErrTooSmall) {
				t.Errorf("error %v", err)
			}
		default:
			t.Error("a job of 100 MiB waits for a spool of 15 MiB")
		}
		select {
		case err := <-small:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("a job of 1 MiB waits behind it, although 14 MiB are free")
		}
		first.Release()
		synctest.Wait()
	})
}

// A job has written what it reserved, and needs a little more. Without this, the snapshot fails although there is space,
// because its own bytes count twice.
func TestAShareGrowsOnADiskThatHoldsItsOwnBytes(t *testing.T) {
	free := int64(108 * mib) // 8 MiB above the 100 MiB that are left free
	s := on(0)
	s.space = func(string) (int64, int64, error) { return free, 1000 * mib, nil }
	share, err := s.Of("a").Reserve(t.Context(), 5*mib)
	if err != nil {
		t.Fatal(err)
	}
	free -= 5 * mib
	if err := share.Grow(5*mib+1, 5*mib); err != nil {
		t.Errorf("3 MiB are free, and the job needs one byte more: %v", err)
	}
	if err := share.Grow(9*mib, 5*mib); !errors.Is(err, ErrTooSmall) {
		t.Errorf("3 MiB are free, and the job needs 4 MiB more: %v", err)
	}
}

// Large proofs hold the spool volume for an hour. Without a part that they leave free, a safety snapshot misses its 15 minutes.
func TestAnUrgentJobWaitsForNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New("dir", Options{Limit: 16 * mib, Urgent: 25}) // 15.5 MiB for jobs, of which others leave a quarter
		s.space = func(string) (int64, int64, error) { return 900 * mib, 1000 * mib, nil }
		first, err := s.Of("a").Reserve(t.Context(), 8*mib)
		if err != nil {
			t.Fatal(err)
		}
		begun := make(chan *Share, 1)
		go func() {
			share, err := s.Of("b").Reserve(t.Context(), 6*mib)
			if err != nil {
				t.Error(err)
			}
			begun <- share
		}()
		synctest.Wait()
		if _, _, waiting := s.Usage(); waiting != 1 {
			t.Errorf("%d jobs wait: the others leave no space for an urgent one", waiting)
		}
		urgent, err := s.Of("c").ReserveUrgent(t.Context(), 5*mib)
		if err != nil {
			t.Fatal(err)
		}
		if len(begun) > 0 {
			t.Error("a job that had to wait was first")
		}
		if err := first.Grow(8*mib+mib/2, 8*mib); err != nil {
			t.Errorf("a job that runs cannot use what the urgent one leaves of the rest: %v", err)
		}
		urgent.Release()
		first.Release()
		synctest.Wait()
		(<-begun).Release()
		if _, err := s.Of("a").Reserve(t.Context(), 12*mib); !errors.Is(err, ErrOverLimit) {
			t.Errorf("a job that needs the part for urgent ones: %v", err)
		}
		large, err := s.Of("a").Reserve(t.Context(), s.Largest())
		if err != nil || s.Largest() < 11*mib {
			t.Fatalf("the largest job, of %d bytes, alone: %v", s.Largest(), err)
		}
		large.Release()
	})
}
