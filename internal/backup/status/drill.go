package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// progress of the running attempt, for scripts and for the columns of kubectl get.
func (r *reporter) progress(p state.Progress) {
	out := &v1beta2.BackupProgress{Stage: p.Stage, Bytes: p.Bytes, TotalBytes: p.About, BytesPerSecond: p.PerSecond}
	if p.Stage == "" {
		out.Stage = state.StageQueued
	}
	if p.About > 0 {
		out.Percent = int32(min(p.Bytes*100/p.About, 99)) // at most 99
	}
	r.out.Progress = out
}

// testing shows the progress of a restore test. It keeps all other conditions.
func (r *reporter) testing(p state.Progress, d planning.Description) {
	r.progress(p)
	r.set(v1beta2.ConditionRunning, metav1.ConditionTrue, d.Reason, d.Message)
}

func (r *reporter) testEnded(a state.Attempt, d planning.Description) {
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, v1beta2.ReasonVerified, "")
	if a.Result.Failure != nil {
		r.out.DrillAttempts, r.out.NextDrillTime = a.Number, state.Second(a.Result.EndedAt.Add(plan.TestDelay(a.Number)))
		r.set(v1beta2.ConditionVerified, metav1.ConditionUnknown, d.Reason, d.Message)
		r.testedOnly(a.Result.Drill, a.Result.Failure.Message)
		return
	}
	r.out.DrillAttempts = 0
	r.tested(a.Result.Drill)
	r.proved(a.Result.Proof)
	state := r.s
	state.Status = r.out
	r.out.NextDrillTime = secondOrNil(plan.TestTurn(state))
}

// testedOnly records a restore test that has a result although what followed it failed: the record of the result, or the proof of the archive. One that
// was not passed is repeated until the store has its result, because retention and the archive ask the store, and not the status.
func (r *reporter) testedOnly(drill *v1beta2.BackupDrill, failure string) {
	if drill == nil {
		return
	}
	r.tested(drill)
	verified := meta.FindStatusCondition(r.out.Conditions, v1beta2.ConditionVerified)
	r.set(v1beta2.ConditionVerified, verified.Status, verified.Reason, state.Clip(fmt.Sprintf("%s But what follows the restore test failed: %s The next attempt is due at %s.",
		verified.Message, planning.Sentence("", failure), state.Stamp(r.out.NextDrillTime.Time))))
}

// interruptedTest reports a restore test that the operator did not survive.
func (r *reporter) interruptedTest(next time.Time) {
	running := meta.FindStatusCondition(r.out.Conditions, v1beta2.ConditionRunning)
	if r.out.DrillAttempts == 0 || running == nil || running.Status != metav1.ConditionTrue || running.Reason != v1beta2.ReasonVerifying {
		return
	}
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, v1beta2.ReasonRetrying, "")
	r.set(v1beta2.ConditionVerified, metav1.ConditionUnknown, v1beta2.ReasonRetrying, fmt.Sprintf(
		"The operator was stopped during attempt %d of the restore test. The next attempt is due at %s.", r.out.DrillAttempts, state.Stamp(next)))
}

// tested records the result of a restore test. It does nothing if d is nil: no snapshot was tested.
func (r *reporter) tested(d *v1beta2.BackupDrill) {
	if d == nil {
		return
	}
	result := *d
	result.Time = *state.Second(d.Time.Time)
	r.out.LastDrill = &result
	r.show(result)
	if d.Result == v1beta2.DrillPassed {
		r.set(v1beta2.ConditionVerified, metav1.ConditionTrue, v1beta2.ReasonVerified, d.Message)
		return
	}
	r.set(v1beta2.ConditionVerified, metav1.ConditionFalse, v1beta2.ReasonSnapshotCorrupt, plan.Unusable(*d))
}

// show gives the snapshot in the status the result of its last test.
func (r *reporter) show(d v1beta2.BackupDrill) {
	if s := r.out.Snapshot; s != nil && s.Path == d.Path {
		s.RestoreTest = d.Result
	}
	for i := range r.out.Snapshots {
		if r.out.Snapshots[i].Path == d.Path {
			r.out.Snapshots[i].RestoreTest = d.Result
		}
	}
}

// failTestedSnapshot makes Ready false while the last snapshot that was tested cannot be restored. If no other test follows, that counts until
// there is a newer snapshot. A test in another location is forgotten: after the first snapshot in the present one, its path may be the same.
func (r *reporter) failTestedSnapshot() {
	d := r.out.LastDrill
	now := r.s
	if now.Status = r.out; d != nil && now.Problem == nil && !now.Here(d.Path) {
		r.out.LastDrill = nil
		return
	}
	tests := r.s.Spec.Drill != nil || r.s.Spec.Verify == v1beta2.VerifyRestore
	if d != nil && !tests && r.out.Snapshot != nil && r.out.Snapshot.Path != d.Path {
		return
	}
	if d != nil && d.Result == v1beta2.DrillFailed && meta.IsStatusConditionTrue(r.out.Conditions, v1beta2.ConditionReady) {
		r.ready(metav1.ConditionFalse, v1beta2.ReasonSnapshotCorrupt, plan.Unusable(*d))
	}
}
