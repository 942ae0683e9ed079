package status

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// handing is a series whose switchover has that phase.
func handing(t *testing.T, phase v1beta2.SwitchoverPhase, changes ...func(*state.State)) state.State {
	s := statetest.ArchivingState(t, changes...)
	if s.Spec.Continuous != nil {
		s.Spec.Continuous.Switchover = true
	}
	s.Held = true
	if phase != "" {
		s.Status.Switchover = &v1beta2.SwitchoverStatus{ID: "id", Phase: phase, Revision: 7, Promoted: "ns/standby"}
	}
	return s
}

// Writes are stopped only when the EtcdBackup cannot be deleted before they are taken again.
func TestASwitchoverBeginsWithTheFinalizer(t *testing.T) {
	s := handing(t, "")
	s.Held = false
	if got := nextSwitchover(s); got != nil {
		t.Errorf("without the finalizer, the switchover begins: %+v", got)
	}
	s.Held = true
	if got := nextSwitchover(s); got == nil || got.Phase != v1beta2.SwitchoverFencing || got.ID == "" {
		t.Errorf("the switchover is %+v", got)
	}
}

// If the store does not answer after a restart of the operator, the status must not say that a source that was handed over is about to take writes.
func TestAPromotionIsNotForgottenWhileTheStoreIsDown(t *testing.T) {
	s := handing(t, v1beta2.SwitchoverPromoted)
	s.Spec.Continuous.Switchover = false
	s.Archive.Switchover = &state.Switchover{ID: "id", Waits: "the store is down"}
	if got := nextSwitchover(s); got == nil || got.Phase != v1beta2.SwitchoverPromoted || got.Promoted != "ns/standby" || got.Revision != 7 || !strings.Contains(got.Message, "the store is down") {
		t.Errorf("the switchover is %+v", got)
	}
	if events := SwitchoverEvents(s.Status, v1beta2.EtcdBackupStatus{}); len(events) > 0 {
		t.Errorf("it reports %+v, and the cluster may take no writes", events)
	}
}

// A cluster that takes no writes, and a status that does not say why, is what a person finds on a bad night.
func TestASwitchoverWithoutAnArchiverSaysHowItContinues(t *testing.T) {
	for want, change := range map[string]func(*state.State){
		"Write continuous back": func(s *state.State) { s.Spec.Continuous = nil },
		"the condition Archiving": func(s *state.State) {
			s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
		},
	} {
		if got := nextSwitchover(handing(t, v1beta2.SwitchoverReady, change)); got == nil || !strings.Contains(got.Message, want) {
			t.Errorf("the switchover is %+v, want %q", got, want)
		}
	}
}

// The archive of a source that was handed over has ended, and nothing refuses its writes again if somebody opens it. The status said that the operator does.
func TestAPromotedSwitchoverWithoutAnArchiverDoesNotPromiseTheFence(t *testing.T) {
	got := nextSwitchover(handing(t, v1beta2.SwitchoverPromoted, func(s *state.State) { s.Spec.Continuous = nil }))
	if got == nil || !strings.Contains(got.Message, "does not check that") || !strings.Contains(got.Message, "ns/standby") {
		t.Errorf("the switchover is %+v", got)
	}
	suspended := handing(t, v1beta2.SwitchoverPromoted, func(s *state.State) { s.Spec.BackupPolicy.Suspend = true })
	if !suspended.Archived() {
		t.Error("a suspended series does not keep the fence")
	}
}
