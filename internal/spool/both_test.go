package spool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// One namespace always had a large safety snapshot of a slow member, which holds less than that of another namespace needs, or a slow reading beside it. Neither
// ended: each counted the other one as what stays. The large safety snapshot of the other namespace waited for up to 14 minutes.
func TestAReadingAndALargeSafetySnapshotOfOneNamespaceGiveWayTogether(t *testing.T) {
	for name, c := range map[string]struct{ reading, urgent, asks float64 }{
		"a smaller safety snapshot":                 {0.1, 9, 12},
		"a reading and a smaller safety snapshot":   {9.8, 9.7, 10},
		"a small safety snapshot beside a reading":  {16, 2.5, 8},
		"a reading and as large a safety snapshot":  {9.9, 9.6, 9.5},
		"a small one that stays beside a large one": {0.7, 2.9, 16.5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := safetySpool()
				ctx, stop := context.WithCancel(t.Context())
				go func() {
					for ctx.Err() == nil {
						_ = reads(ctx, s, "tenant", c.reading, 5*time.Hour)
						<-time.After(20 * time.Second)
					}
				}()
				synctest.Wait()
				go func() {
					for ctx.Err() == nil {
						_, _ = urgentJob(t, s, "tenant", c.urgent, longestUrgent)
						<-time.After(20 * time.Second)
					}
				}()
				<-time.After(longestUrgent + time.Minute)
				if waited, err := urgentJob(t, s, "other", c.asks, 6*time.Minute); err != nil || waited > urgentTurn+time.Minute {
					t.Errorf("the large safety snapshot of another namespace waited for %s: %v", waited, err)
				}
				stop()
				<-time.After(6 * time.Hour)
			})
		})
	}
}
