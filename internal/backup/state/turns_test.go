package state_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

func TestAnAttemptLastsAtMostADay(t *testing.T) {
	s := statetest.One(func(s *state.State) { s.Spec.BackupPolicy = statetest.PolicyOf(1 << 40) })
	if got := state.TimeoutOf(s.Spec); got != 24*time.Hour {
		t.Errorf("the limit is %s", got)
	}
}

func TestTheStatusShowsWhyAnAttemptWaits(t *testing.T) {
	for want, p := range map[string]state.Progress{
		"The attempt is queued for a worker of the operator: this namespace uses as much as one namespace may.":           {Why: turns.OwnShare},
		"The operator is waiting for space on the spool volume: everything is in use, and namespaces take turns.":         {Stage: "waiting for space on the spool volume", Why: turns.AllInUse},
		"The operator is waiting for space on the spool volume: it is the turn of one that has waited longer.":            {Stage: "waiting for space on the spool volume", Why: turns.Earlier},
		"The attempt is queued for a worker of the operator: this bucket has as many at the same time as one bucket may.": {Why: turns.Bucket},
	} {
		if got := p.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
