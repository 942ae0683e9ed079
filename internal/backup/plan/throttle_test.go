package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestTheFirstSnapshotOfAScheduleIsTakenAtOnceIfAsked(t *testing.T) {
	immediate := func(s *state.State) { s.Spec.BackupPolicy.Immediate = true }
	if got := next(statetest.Cron("0 3 * * *", justMade, immediate)); got != (TakeSnapshot{Number: 1}) {
		t.Errorf("%#v", got)
	}
	if got, waits := next(statetest.Cron("0 3 * * *", justMade)).(Scheduled); !waits {
		t.Errorf("%#v without immediate", got)
	}
	taken := func(s *state.State) {
		statetest.Proven(time.Minute)(s)
		immediate(s)
	}
	if got, waits := next(statetest.Cron("0 3 * * *", taken)).(Scheduled); !waits {
		t.Errorf("%#v after the first snapshot", got)
	}
}

func TestAnIntervalIsNotLengthenedByJitter(t *testing.T) {
	s := statetest.Series(statetest.Proven(time.Minute), func(s *state.State) { s.Jitter = time.Minute })
	if got := SnapshotTurn(s); !got.Equal(statetest.T0.Add(59 * time.Minute)) {
		t.Errorf("due at %s", got)
	}
}
