package spool

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A tenant restores a cluster whose slow member states 8 GiB, once an hour. Its safety snapshot keeps the space for 14 minutes, because its namespace has had
// no other one lately. The safety snapshot of another namespace is as large, needs two minutes, and is not taken within the 15 minutes of its restore.
func TestOneSlowLargeSafetySnapshotDoesNotCostThatOfAnotherNamespace(t *testing.T) {
	for _, size := range []float64{3.5, 8} {
		t.Run(fmt.Sprintf("%.1f GiB", size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := safetySpool()
				reading, err := s.Of("tenant").Reserve(t.Context(), gib(11))
				if err != nil {
					t.Fatal(err)
				}
				go func() { _, _ = urgentJob(t, s, "tenant", 8, longestUrgent) }()
				synctest.Wait()
				if !taken(t, s, "other", size, 2*time.Minute) {
					t.Error("the safety snapshot is not taken, because of one of another namespace")
				}
				reading.Release()
				<-time.After(time.Hour)
			})
		})
	}
}

// A reading of a slow store may take hours. One that holds all that a reading may hold leaves space only for small safety snapshots.
func TestOneSlowReadingDoesNotCostTheLargeSafetySnapshotOfAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		reading, err := s.Of("tenant").Reserve(t.Context(), gib(16.6))
		if err != nil {
			t.Fatal(err)
		}
		if !taken(t, s, "other", 3.5, 2*time.Minute) {
			t.Error("the safety snapshot is not taken, because of a reading of another namespace")
		}
		reading.Release()
	})
}
