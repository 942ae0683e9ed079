package backup

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// The archiver begins a switchover that is in the status. A status that is written causes no pass, so the person who moved an idle cluster waited for up to a minute.
func TestASwitchoverBeginsWithThePassAfterItIsInTheStatus(t *testing.T) {
	s := statetest.ArchivingState(t, func(s *state.State) {
		s.Spec.Continuous.Switchover, s.Held = true, true
	})
	b := object(s)
	r := newRig(t, b)
	if _, requeue, err := r.report(t.Context(), b, s, plan.Idle{}, nil); err != nil || requeue != plan.AtOnce {
		t.Errorf("the pass that begins a switchover asks for the next one after %s, %v", requeue, err)
	}
	now := r.backup()
	s.Status = now.Status
	if now.Status.Switchover == nil {
		t.Fatal("no switchover is in the status")
	}
	if _, requeue, err := r.report(t.Context(), now, s, plan.Idle{}, nil); err != nil || requeue != 0 {
		t.Errorf("the next pass asks for another one after %s, %v", requeue, err)
	}
}
