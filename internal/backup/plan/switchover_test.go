package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// Without its EtcdBackup, no operator lets the cluster take writes again.
func TestADeletedEtcdBackupCallsItsSwitchoverOffFirst(t *testing.T) {
	for phase, waits := range map[v1beta2.SwitchoverPhase]bool{"": false, v1beta2.SwitchoverReady: true, v1beta2.SwitchoverCallingOff: true, v1beta2.SwitchoverPromoted: false} {
		s := statetest.ArchivingState(t, func(s *state.State) {
			s.Spec.Continuous.Switchover = true
			s.Held = true
			if phase != "" {
				s.Status.Switchover = &v1beta2.SwitchoverStatus{ID: "id", Phase: phase}
			}
		})
		if step := finalizerDiffersFromPolicy(s); (step == nil) != (phase != v1beta2.SwitchoverPromoted) {
			t.Errorf("with the phase %q, the finalizer: %T", phase, step)
		}
		s.Deleting, s.DeletedAt = true, s.Now
		if s.Archived() != waits || state.HandsOver(s) {
			t.Errorf("with the phase %q, the archiver runs: %t, and hands over: %t", phase, s.Archived(), state.HandsOver(s))
		}
		if _, is := backupIsBeingDeleted(s).(Wait); is != waits {
			t.Errorf("with the phase %q, the deletion waits: %t", phase, is)
		}
		if s.DeletingFor = PurgeLimit; backupIsBeingDeleted(s) != Step(Release{}) {
			t.Errorf("with the phase %q, the EtcdBackup cannot be deleted while etcd does not answer", phase)
		}
	}
}
