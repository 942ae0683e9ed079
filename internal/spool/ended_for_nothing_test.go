package spool

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// A safety snapshot waited. A large one that had waited for longer began, and its turn was over only after the first one had no time left. A small one of
// another namespace ended at once, although the space of both was needed, so it ended for nothing.
func TestNoJobEndsForARequestThatHasSpaceTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		reading, err := s.Of("reading").Reserve(t.Context(), gib(16.6))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := urgentJob(t, s, "small", 0.5, 2*time.Minute); err != nil { // it restores two clusters
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var small, other error
		all.Go(func() { _, small = urgentJob(t, s, "small", 0.5, longestUrgent-time.Minute) })
		synctest.Wait()
		all.Go(func() { _, _ = urgentJob(t, s, "first", 2.4, 8*time.Minute) })
		all.Go(func() { _, _ = urgentJob(t, s, "second", 2, longestUrgent) })
		synctest.Wait()
		all.Go(func() { _, _ = urgentJob(t, s, "large", 2.9, longestUrgent) })
		synctest.Wait()
		<-time.After(time.Second)
		all.Go(func() { _, other = urgentJob(t, s, "other", 2.8, 5*time.Minute) })
		all.Wait()
		reading.Release()
		if errors.Is(small, turns.ErrOthersWaited) && other != nil {
			t.Errorf("the small one has ended with %q, and the one for which it did was not taken either: %v", small, other)
		}
	})
}
