package turns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A tenant restores a cluster of their own again and again, so that one of their safety snapshots always waits for the slot of databases above 256 MiB.
// The restore of another namespace reads an honest database of 8 GiB, whose check takes 80 s at 100 MiB a second. If the minute that it has while an urgent
// caller waits were not doubled after each end, the restore would never complete.
func TestARestoreOfALargeDatabaseEndsWhileATenantHasSafetySnapshots(t *testing.T) {
	for name, honest := range map[string]struct {
		bytes int64
		takes time.Duration
	}{
		"8 GiB at 100 MiB a second": {8 << 30, 82 * time.Second},
		"300 MiB at 4 MiB a second": {300 << 20, 75 * time.Second},
		"8 GiB at 21 MiB a second":  {8 << 30, 390 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewGate(1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for range 2 { // safetiesOfOne
					go func() {
						for ctx.Err() == nil {
							_, _ = holds(Urgent(ctx), g, "tenant", 300<<20, 5*time.Second)
						}
					}()
				}
				synctest.Wait()
				began, ends := time.Now(), 0
				for time.Since(began) < 7*24*time.Hour {
					_, err := holds(t.Context(), g, "honest", honest.bytes, honest.takes)
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
			})
		})
	}
}

// The same tenant, and the safety snapshot of another namespace whose check needs more than four minutes. If each check of it ended after four minutes, its 14
// minutes would pass, and the restore would continue without it. Alone it takes five.
func TestALargeSafetySnapshotIsCheckedWhileATenantHasSafetySnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 { // safetiesOfOne
			go func() {
				for ctx.Err() == nil {
					_, _ = holds(Urgent(ctx), g, "tenant", 300<<20, 5*time.Second)
				}
			}()
		}
		synctest.Wait()
		limited, end := context.WithTimeout(Urgent(t.Context()), 14*time.Minute) // safetyTimeout of restore-operator
		defer end()
		ends := 0
		for {
			_, err := holds(limited, g, "honest", 8<<30, 5*time.Minute) // 27 MiB a second; 7 times the rate that honest work may need
			if err == nil {
				break
			}
			if ends++; limited.Err() != nil {
				t.Errorf("the check of an honest safety snapshot was ended %d times, and its restore continues without it: %v", ends, err)
				break
			}
		}
		cancel()
	})
}

// A check that was ended again and again for the safety snapshots of one namespace gets more time. If it got it from all namespaces, a tenant could keep the
// safety snapshot of another one waiting for longer than the restore waits for it.
func TestACheckThatGotMoreTimeFromOneNamespaceHasNoMoreFromAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		again := func(namespace string) (waited time.Duration) {
			done := make(chan struct{})
			go func() { defer close(done); _, _ = holds(t.Context(), g, "slow", 8<<30, 20*time.Minute) }()
			synctest.Wait()
			began := time.Now()
			leave, err := g.Enter(Urgent(t.Context()), namespace)
			if err != nil {
				t.Fatal(err)
			}
			waited = time.Since(began)
			leave()
			<-done
			return waited
		}
		for _, most := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, urgentWaitAgain} {
			if waited := again("tenant"); waited > most+2*time.Second || waited < most-2*time.Second {
				t.Errorf("the safety snapshot of the tenant waited for %s, and should for %s", waited, most)
			}
		}
		if waited := again("another"); waited > urgentWaitMost+2*time.Second {
			t.Errorf("the safety snapshot of another namespace waited for %s", waited)
		}
	})
}
