package turns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What a safety snapshot has waited in other queues counts toward the seven minutes. A tenant decides that: the snapshot waits for space beside a reading of
// their own. If it counted each time, the check of an honest database that takes five minutes would end after three of them for as long as the tenant likes.
func TestARestoreOfALargeDatabaseEndsWhileSafetySnapshotsOfATenantHaveWaitedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 { // safetiesOfOne
			go func() {
				for ctx.Err() == nil {
					<-time.After(urgentWaitAgain) // in the queue for space
					urgent := Urgent(ctx)
					Waited(urgent, urgentWaitAgain)
					_, _ = holds(urgent, g, "tenant", 300<<20, 5*time.Second)
				}
			}()
			<-time.After(urgentWaitAgain / 2)
		}
		began, ends := time.Now(), 0
		for time.Since(began) < 24*time.Hour {
			_, err := holds(t.Context(), g, "honest", 8<<30, 5*time.Minute)
			if err == nil {
				break
			}
			if !errors.Is(err, ErrOthersWaited) {
				t.Fatal(err)
			}
			ends++
			<-time.After(time.Minute) // it reads the snapshot again
		}
		if took := time.Since(began); took > 12*time.Hour {
			t.Errorf("the check of an honest database was ended %d times in %s, and has no result", ends, took)
		}
		cancel()
		<-time.After(time.Hour)
	})
}
