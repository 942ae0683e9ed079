package dbcheck

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// restore-operator checks the snapshots to restore and the safety snapshots in the same slots. An EtcdRestore of a tenant names a crafted database, whose
// check computes without end. The safety snapshot of another namespace waited for longer than its 14 minutes, and that restore continued without it:
// what its cluster acknowledged since the last backup was in no snapshot.
func TestASafetySnapshotIsCheckedBeforeItsRestoreContinues(t *testing.T) {
	for name, test := range map[string]struct {
		repeated int
		size     int64
	}{
		"8 GiB, the first time":         {0, 8 << 30},
		"300 MiB, after three attempts": {3, 300 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			path, usual := sparse(t, test.size), sparse(t, usualFile+1)
			synctest.Test(t, func(t *testing.T) {
				c := slowChecks()
				honest := c
				c.large.process, honest.large.process = slow(24*time.Hour), slow(4*time.Second) // 256 MiB at 64 MiB a second
				ended := make(chan error, 1)
				crafted := func() {
					_, err := c.inspect(t.Context(), "crafted", path)
					ended <- err
				}
				for range test.repeated { // while others waited
					go crafted()
					synctest.Wait()
					if _, err := honest.inspect(t.Context(), "other", usual); err != nil {
						t.Fatal(err)
					}
					<-ended
				}
				go crafted()
				synctest.Wait()
				began, limit := time.Now(), v1beta2.SafetySnapshotLimit-time.Minute // safetyTimeout of restore-operator
				_, err := honest.inspect(turns.Urgent(t.Context()), "safety", usual)
				if took := time.Since(began); err != nil || took > limit/4 {
					t.Errorf("the check of a safety snapshot ended after %s, and its restore continues after %s: %v", took, limit, err)
				}
				<-ended
			})
		})
	}
}

// The context of a safety snapshot carries that it is urgent. Inspect must pass it to the slot of the file.
func TestInspectPassesTheContextToTheSlot(t *testing.T) {
	path := sparse(t, 1<<20)
	synctest.Test(t, func(t *testing.T) {
		c := slowChecks()
		order := make(chan string, 3)
		check := func(ctx context.Context, namespace string) {
			_, _ = c.inspect(ctx, namespace, path)
			order <- namespace
		}
		go check(t.Context(), "first")
		synctest.Wait()
		go check(t.Context(), "second")
		synctest.Wait()
		go check(turns.Urgent(t.Context()), "safety")
		if first, second := <-order, <-order; first != "first" || second != "safety" {
			t.Errorf("%s and %s ended first", first, second)
		}
		<-order
	})
}
