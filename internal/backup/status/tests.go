package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// tests reports the results of restore tests and of proofs of the archive.
type tests struct{ *reporter }

// recordUnfinished records a restore test that has a result although what followed it failed: the record of the result, or the proof of the archive. One that
// was not passed is repeated until the store has its result, because retention and the archive ask the store, and not the status.
func (r tests) recordUnfinished(drill *v1beta2.BackupDrill, failure string) {
	if drill == nil {
		return
	}
	r.record(drill)
	verified := r.Find(v1beta2.ConditionVerified)
	r.Set(v1beta2.ConditionVerified, verified.Status, verified.Reason, fmt.Sprintf("%s But what follows the restore test failed: %s The next attempt is due at %s.",
		verified.Message, planning.Sentence("", failure), state.Stamp(r.out.NextDrillTime.Time)))
}

// interrupted reports a restore test that the operator did not survive.
func (r tests) interrupted(next time.Time) {
	running := r.Find(v1beta2.ConditionRunning)
	if r.out.DrillAttempts == 0 || running == nil || running.Status != metav1.ConditionTrue || running.Reason != v1beta2.ReasonVerifying {
		return
	}
	r.False(v1beta2.ConditionRunning, v1beta2.ReasonRetrying, "")
	r.Set(v1beta2.ConditionVerified, metav1.ConditionUnknown, v1beta2.ReasonRetrying, fmt.Sprintf(
		"The operator was stopped during attempt %d of the restore test. The next attempt is due at %s.", r.out.DrillAttempts, state.Stamp(next)))
}

// record records the result of a restore test. It does nothing if d is nil: no snapshot was tested.
func (r tests) record(d *v1beta2.BackupDrill) {
	if d == nil {
		return
	}
	result := *d
	result.Time = *state.Second(d.Time.Time)
	r.out.LastDrill = &result
	r.show(result)
	if d.Result == v1beta2.DrillPassed {
		r.True(v1beta2.ConditionVerified, v1beta2.ReasonVerified, d.Message)
		return
	}
	r.False(v1beta2.ConditionVerified, v1beta2.ReasonSnapshotCorrupt, plan.Unusable(*d))
}

// show gives the snapshot in the status the result of its last test.
func (r tests) show(d v1beta2.BackupDrill) {
	if s := r.out.Snapshot; s != nil && s.Path == d.Path {
		s.RestoreTest = d.Result
	}
	for i := range r.out.Snapshots {
		if r.out.Snapshots[i].Path == d.Path {
			r.out.Snapshots[i].RestoreTest = d.Result
		}
	}
}

// failSnapshot makes Ready false while the last snapshot that was tested cannot be restored. If no other test follows, that counts until
// there is a newer snapshot. A test in another location is forgotten: after the first snapshot in the present one, its path may be the same.
func (r tests) failSnapshot() {
	d := r.out.LastDrill
	if d != nil && r.s.Problem == nil && !r.written().Here(d.Path) {
		r.out.LastDrill = nil
		return
	}
	tests := r.s.Spec.Drill != nil || r.s.Spec.Verify == v1beta2.VerifyRestore
	if d != nil && !tests && r.out.Snapshot != nil && r.out.Snapshot.Path != d.Path {
		return
	}
	if d != nil && d.Result == v1beta2.DrillFailed && r.Is(v1beta2.ConditionReady) {
		r.False(v1beta2.ConditionReady, v1beta2.ReasonSnapshotCorrupt, plan.Unusable(*d))
	}
}
