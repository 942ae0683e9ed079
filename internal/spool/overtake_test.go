package spool

import (
	"testing"
	"testing/synctest"
)

// Small safety snapshots may overtake a large one, and others follow them. If they delayed it, a restore of a large cluster would continue without its
// safety snapshot, and what its cluster acknowledged since the last backup would be lost.
func TestSmallUrgentJobsThatOvertakeALargeOneDoNotDelayIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		reading, err := s.Of("slow").Reserve(t.Context(), gib(2.9))
		if err != nil {
			t.Fatal(err)
		}
		large := make(chan *Share, 1)
		go func() {
			share, _ := s.Of("large").ReserveUrgent(t.Context(), gib(19))
			large <- share
		}()
		synctest.Wait()
		small, err := s.Of("small").ReserveUrgent(t.Context(), gib(2.9))
		if err != nil {
			t.Fatal(err)
		}
		reading.Release()
		synctest.Wait()
		select {
		case share := <-large:
			share.Release()
			small.Release()
		default:
			t.Errorf("the large one waits because %q", s.Of("large").Why())
			small.Release()
			(<-large).Release()
		}
	})
}

// What a job has written was missing in the free space of the disk, and counted as reserved, too. On a node with less free space than twice the volume,
// a large reading of a tenant left nothing to others, and their restores continued without safety snapshots.
func TestWhatOthersHaveWrittenCountsOnceOnTheDisk(t *testing.T) {
	free := int64(120 * mib) // 100 of them are left free
	s := on(0)
	s.space = func(string) (int64, int64, error) { return free, 1000 * mib, nil }
	tenant, err := s.Of("tenant").Reserve(t.Context(), 12*mib)
	if err != nil {
		t.Fatal(err)
	}
	free -= 10 * mib
	if err := tenant.Grow(12*mib, 10*mib); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		admitted := make(chan *Share, 1)
		go func() {
			share, _ := s.Of("other").Reserve(t.Context(), 3*mib)
			admitted <- share
		}()
		synctest.Wait()
		select {
		case share := <-admitted:
			share.Release()
		default:
			t.Error("3 MiB wait, although the disk has 20 MiB for jobs, and the other one has 12 of them")
			tenant.Release()
			(<-admitted).Release()
		}
	})
}
