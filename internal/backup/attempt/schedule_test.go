package attempt_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// An interval may be written in nanoseconds, or mean never. Without this, it overflows, and the operator takes one snapshot
// after the other.
func TestAnEndlessIntervalTakesNoSnapshotAfterTheOther(t *testing.T) {
	for _, seconds := range []int64{10_000_000_000, 3_600_000_000_000, 86_400_000_000_000} {
		s := statetest.Series(statetest.Proven(time.Hour), func(s *state.State) { s.Spec.BackupPolicy.BackupIntervalInSecond = seconds })
		if s.Problem != nil {
			continue
		}
		if step, _ := plan.Plan(s); step == (plan.TakeSnapshot{Number: 1}) {
			t.Errorf("an interval of %d s is due an hour after the newest snapshot", seconds)
		}
		w := attempttest.NewWorld(t)
		for range 3 {
			w.Attempt(s)
		}
		if len(w.Saves) > 1 {
			t.Errorf("an interval of %d s: %d snapshots in one second", seconds, len(w.Saves))
		}
	}
}
