package plan

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestSchedulesAreSpreadByTheUID(t *testing.T) {
	due := map[time.Time]int{}
	for i := range 1000 {
		s := statetest.Cron("0 3 * * *", statetest.Proven(6*time.Hour), func(s *state.State) {
			s.UID, s.Jitter = types.UID(fmt.Sprintf("uid-%d", i)), time.Minute
			s.Status.Snapshot.CreatedAt = state.Stamp(statetest.T0.Add(-20 * time.Hour))
			s.Now = statetest.T0.Add(-10 * time.Hour)
		})
		at := SnapshotTurn(s)
		tick := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
		if at.Before(tick) || !at.Before(tick.Add(time.Minute)) {
			t.Fatalf("due at %s", at)
		}
		due[at]++
		s.Now = at.Add(-time.Second)
		if _, waits := next(s).(Scheduled); !waits {
			t.Fatalf("%#v a second before it is due", next(s))
		}
		s.Now = at
		if next(s) != (TakeSnapshot{Number: 1}) {
			t.Fatalf("%#v when it is due at %s", next(s), at)
		}
		// The snapshot of this run, or one that a user asked for after the scheduled time, is enough until the next run.
		s.Status.Snapshot.CreatedAt = state.Stamp(tick.Add(time.Second))
		if got := SnapshotTurn(s); got != at.Add(24*time.Hour) {
			t.Fatalf("next at %s", got)
		}
	}
	if len(due) < 50 {
		t.Errorf("1000 EtcdBackups are due at %d different seconds", len(due))
	}
	if s := statetest.Cron("* * * * *", statetest.Proven(time.Minute), func(s *state.State) { s.Jitter = time.Hour }); SnapshotTurn(s).After(statetest.T0.Add(6 * time.Second)) {
		t.Errorf("due at %s, a snapshot each minute", SnapshotTurn(s))
	}
}
