package attempt_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Keepers hold the manifests of their archives for months. Those of a tenant and of others left a few steps of the memory. The names of a series fitted, and
// the manifests of its newest 8 snapshots did not. Then no backup was taken until an archive was deleted, so its user lost all changes since the last one.
func TestABackupIsTakenWhileTheMemoryForManifestsIsFull(t *testing.T) {
	const step = 16 << 10 // holdingStep of objstore
	for _, steps := range []int64{0, 1, 2, 3, 4, 5, 6} {
		t.Run(fmt.Sprint(steps, " steps are left"), func(t *testing.T) {
			w := attempttest.NewWorld(t)
			const before = 30
			for hour := range before {
				w.Now = statetest.At(statetest.T0.Add(time.Duration(hour) * 24 * time.Hour))
				if r := w.Attempt(statetest.Series(statetest.Keep(100))); r.Failure != nil {
					t.Fatalf("before: %+v", r.Failure)
				}
			}
			hold := func(namespace string, bytes int64) {
				_, held := objstore.Hold(t.Context(), namespace)
				if err := held.Add(bytes); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(held.Release)
			}
			hold("tenant", objstore.HeldMemory*7/8)
			// Each of the others can hold a sixteenth of what it leaves, until that is less than a step.
			const sixteenth = 16
			for n, left := 0, int64(objstore.HeldMemory/8); ; n++ {
				amount := min(left/(sixteenth+1), left-(sixteenth+steps)*step) / step * step
				if amount <= 0 {
					break
				}
				hold(fmt.Sprint("other ", n), amount)
				left -= amount
			}
			for day := range 7 {
				w.Now = statetest.At(statetest.T0.Add(time.Duration(before+day) * 24 * time.Hour))
				if r := w.Attempt(statetest.Series(statetest.Keep(100))); r.Snapshot == nil {
					t.Errorf("day %d: no snapshot is taken: %+v", day+1, r.Failure)
				}
			}
			if len(w.Saves) != before+7 {
				t.Errorf("%d snapshots were taken, want %d", len(w.Saves), before+7)
			}
		})
	}
}
