package spool

import (
	"testing"
	"testing/synctest"
	"time"
)

// taken takes a safety snapshot again and again until its restore has waited for 15 minutes, and returns whether it was taken.
func taken(t *testing.T, s *Spool, namespace string, size float64, needs time.Duration) bool {
	ready := time.Now()
	for time.Since(ready) < 15*time.Minute {
		if _, err := urgentJob(t, s, namespace, size, needs); err == nil {
			return time.Since(ready) < 15*time.Minute
		}
		<-time.After(20 * time.Second)
	}
	return false
}

// Two clusters of 8 GiB were restored at the same time, and each safety snapshot took 8 minutes. The first one was ended after 7 minutes for the second one,
// and that one after 7 minutes for the first one, so none of both was taken. In the same way, one tenant who restores a cluster of that size once ends the
// safety snapshot of another namespace that came first.
func TestOneOfTwoLargeSafetySnapshotsIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		reading, err := s.Of("reading").Reserve(t.Context(), gib(11))
		if err != nil {
			t.Fatal(err)
		}
		first, second := make(chan bool, 1), make(chan bool, 1)
		go func() { first <- taken(t, s, "first", 8, 8*time.Minute) }()
		synctest.Wait()
		go func() { second <- taken(t, s, "second", 8, 8*time.Minute) }()
		if a, b := <-first, <-second; !a && !b {
			t.Error("neither of two honest safety snapshots is taken: each was ended for the other one")
		}
		reading.Release()
	})
}
