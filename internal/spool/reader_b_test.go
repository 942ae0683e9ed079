package spool

import (
	"errors"
	"testing"
	"testing/synctest"
)

// Reserve: "The error is ErrTooSmall if waiting does not help."
func TestAJobThatNeverFitsDoesNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(900 * mib)
		first, err := s.Reserve(t.Context(), mib)
		if err != nil {
			t.Fatal(err)
		}
		never, small := make(chan error, 1), make(chan error, 1)
		go func() { _, err := s.Reserve(t.Context(), 100*mib); never <- err }()
		synctest.Wait()
		go func() { _, err := s.Reserve(t.Context(), mib); small <- err }()
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

// A job has written what it reserved, and needs a little more.
func TestAShareGrowsOnADiskThatHoldsItsOwnBytes(t *testing.T) {
	free := int64(108 * mib) // 8 MiB above the 100 MiB that are left free
	s := on(0)
	s.space = func(string) (int64, int64, error) { return free, 1000 * mib, nil }
	share, err := s.Reserve(t.Context(), 5*mib)
	if err != nil {
		t.Fatal(err)
	}
	free -= 5 * mib
	if err := share.Grow(5*mib + 1); err != nil {
		t.Errorf("3 MiB are free, and the job needs one byte more: %v", err)
	}
}
