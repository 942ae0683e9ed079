package spool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A tenant in two namespaces always has a slow safety snapshot in each, which holds a little less than that of another namespace needs. Neither gave way,
// because only one that holds as much did.
func TestSlowSafetySnapshotsThatAreSmallerGiveWayToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		reading, err := s.Of("reading").Reserve(t.Context(), gib(16.6))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		for _, namespace := range []string{"slow", "slow too"} {
			go func() {
				for ctx.Err() == nil {
					_, _ = urgentJob(t, s, namespace, 1.95, longestUrgent)
					<-time.After(20 * time.Second)
				}
			}()
			synctest.Wait()
		}
		<-time.After(longestUrgent + time.Minute) // each has had one
		waited, err := urgentJob(t, s, "other", 2.85, 6*time.Minute)
		if waited > urgentTurn || err != nil {
			t.Errorf("the safety snapshot of another namespace waited for %s, and ended with %v", waited, err)
		}
		stop()
		reading.Release()
		<-time.After(time.Hour)
	})
}

// A namespace whose safety snapshot is its first one for an hour keeps its space: else a tenant could end each one of others that is slow.
func TestTheFirstSafetySnapshotOfANamespaceEndsForNoLargerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		reading, err := s.Of("reading").Reserve(t.Context(), gib(16.6))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 2)
		for _, namespace := range []string{"slow", "slow too"} {
			go func() {
				_, err := urgentJob(t, s, namespace, 1.95, 13*time.Minute)
				ended <- err
			}()
			synctest.Wait()
		}
		_, _ = urgentJob(t, s, "tenant", 2.85, time.Minute)
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
		}
		reading.Release()
		<-time.After(time.Hour)
	})
}

// Two namespaces of a tenant hold the space: one has had a safety snapshot lately, and the other one, which holds more, has had none. The first one did not
// give way because of the second one, which does not give way to a large one.
func TestANamespaceThatDoesNotGiveWayKeepsNoOtherFromThat(t *testing.T) {
	for name, c := range map[string]struct{ reading, first, second, asks float64 }{
		"a small one": {16.6, 1.95, 1.97, 2.85},
		"a large one": {5, 5, 6, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := safetySpool()
				reading, err := s.Of("reading").Reserve(t.Context(), gib(c.reading))
				if err != nil {
					t.Fatal(err)
				}
				reading.Keep()
				_, _ = urgentJob(t, s, "slow", 1, 2*time.Minute)
				for namespace, size := range map[string]float64{"slow": c.first, "slow too": c.second} {
					go func() { _, _ = urgentJob(t, s, namespace, size, longestUrgent) }()
				}
				synctest.Wait()
				waited, err := urgentJob(t, s, "other", c.asks, 6*time.Minute)
				if waited > urgentTurn || err != nil {
					t.Errorf("the safety snapshot of another namespace waited for %s, and ended with %v", waited, err)
				}
				reading.Release()
				<-time.After(time.Hour)
			})
		})
	}
}
