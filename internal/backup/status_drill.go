package backup

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// watch shows the progress of the attempt.
func (r *reporter) watch(a Attempt, d planning.Description) {
	switch a.Kind {
	case KindDrill:
		r.testing(a.Progress, d)
	case KindPrune:
		r.pruning(a.StartedAt, d)
	case KindPurge:
		r.purging(a.Number, a.StartedAt, d)
	default:
		r.running(a.Number, a.StartedAt, a.Progress, d)
	}
}

// ended reports how the attempt ended.
func (r *reporter) ended(a Attempt, d planning.Description) {
	switch a.Kind {
	case KindDrill:
		r.testEnded(a, d)
	case KindPurge:
		r.purgeFailed(a, d)
	case KindPrune:
		r.prunedSuspended(a, d)
	default:
		r.taken(a, d)
	}
}

// stageQueued is the stage of an attempt that waits for a worker.
const stageQueued = "queued"

// progress of the running attempt, for scripts and for the columns of kubectl get.
func (r *reporter) progress(p Progress) {
	out := &v1beta2.BackupProgress{Stage: p.Stage, Bytes: p.Bytes, TotalBytes: p.About, BytesPerSecond: p.PerSecond}
	if p.Stage == "" {
		out.Stage = stageQueued
	}
	if p.About > 0 {
		out.Percent = int32(min(p.Bytes*100/p.About, 99)) // at most 99
	}
	r.out.Progress = out
}

// testing shows the progress of a restore test. It keeps all other conditions.
func (r *reporter) testing(p Progress, d planning.Description) {
	r.progress(p)
	r.set(v1beta2.ConditionRunning, metav1.ConditionTrue, d.Reason, d.Message)
}

func (r *reporter) testEnded(a Attempt, d planning.Description) {
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, v1beta2.ReasonVerified, "")
	if a.Result.Failure != nil {
		r.out.DrillAttempts, r.out.NextDrillTime = a.Number, second(a.Result.EndedAt.Add(testDelay(a.Number)))
		r.set(v1beta2.ConditionVerified, metav1.ConditionUnknown, d.Reason, d.Message)
		return
	}
	r.out.DrillAttempts = 0
	r.tested(a.Result.Drill)
	r.proved(a.Result.Proof)
	state := r.s
	state.Status = r.out
	r.out.NextDrillTime = secondOrNil(state.testTurn())
}

// interruptedTest reports a restore test that the operator did not survive.
func (r *reporter) interruptedTest(next time.Time) {
	running := meta.FindStatusCondition(r.out.Conditions, v1beta2.ConditionRunning)
	if r.out.DrillAttempts == 0 || running == nil || running.Status != metav1.ConditionTrue || running.Reason != v1beta2.ReasonVerifying {
		return
	}
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, v1beta2.ReasonRetrying, "")
	r.set(v1beta2.ConditionVerified, metav1.ConditionUnknown, v1beta2.ReasonRetrying, fmt.Sprintf(
		"The operator was stopped during attempt %d of the restore test. The next attempt is due at %s.", r.out.DrillAttempts, stamp(next)))
}

// tested records the result of a restore test. It does nothing if d is nil: no snapshot was tested.
func (r *reporter) tested(d *v1beta2.BackupDrill) {
	if d == nil {
		return
	}
	result := *d
	result.Time = *second(d.Time.Time)
	r.out.LastDrill = &result
	r.show(result)
	if d.Result == v1beta2.DrillPassed {
		r.set(v1beta2.ConditionVerified, metav1.ConditionTrue, v1beta2.ReasonVerified, d.Message)
		return
	}
	r.set(v1beta2.ConditionVerified, metav1.ConditionFalse, v1beta2.ReasonSnapshotCorrupt, unusable(*d))
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
	if now.Status = r.out; d != nil && now.Problem == nil && !now.here(d.Path) {
		r.out.LastDrill = nil
		return
	}
	tests := r.s.Spec.Drill != nil || r.s.Spec.Verify == v1beta2.VerifyRestore
	if d != nil && !tests && r.out.Snapshot != nil && r.out.Snapshot.Path != d.Path {
		return
	}
	if d != nil && d.Result == v1beta2.DrillFailed && meta.IsStatusConditionTrue(r.out.Conditions, v1beta2.ConditionReady) {
		r.ready(metav1.ConditionFalse, v1beta2.ReasonSnapshotCorrupt, unusable(*d))
	}
}

// finished makes Ready true again after a restore test has passed.
func (r *reporter) finished(step Finished, d planning.Description) {
	test := r.out.LastDrill
	if step.Complete && test != nil && test.Result == v1beta2.DrillPassed && r.out.Snapshot != nil {
		r.ready(metav1.ConditionTrue, d.Reason, d.Message)
	}
}

func (r *reporter) suspended(d planning.Description) {
	r.out.NextTime, r.out.NextDrillTime = nil, nil
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, d.Reason, "")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, "")
	r.notFailed(d.Reason)
	r.ready(metav1.ConditionTrue, d.Reason, d.Message)
}

// pruned reports whether the old snapshots were deleted.
func (r *reporter) pruned(result Result) {
	p := r.s.Spec.BackupPolicy
	switch {
	case result.PruneProblem != "":
		r.set(v1beta2.ConditionPruned, metav1.ConditionFalse, result.PruneReason, result.PruneProblem)
	case result.Failure == nil && r.s.Series() && (p.MaxBackups > 0 || p.Retention != nil):
		r.set(v1beta2.ConditionPruned, metav1.ConditionTrue, v1beta2.ReasonPruned, "")
	case result.Failure == nil:
		meta.RemoveStatusCondition(&r.out.Conditions, v1beta2.ConditionPruned)
	}
}

// pruning reports that old snapshots of a suspended series are being deleted. It keeps all other conditions.
func (r *reporter) pruning(began time.Time, d planning.Description) {
	r.out.LastPruneTime = second(began)
	r.set(v1beta2.ConditionRunning, metav1.ConditionTrue, d.Reason, d.Message)
}

func (r *reporter) prunedSuspended(a Attempt, d planning.Description) {
	r.out.LastPruneTime = second(a.StartedAt)
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, "")
	if f := a.Result.Failure; f != nil {
		r.set(v1beta2.ConditionPruned, metav1.ConditionFalse, f.Reason, f.Message)
		return
	}
	r.out.Snapshots = allAsRecorded(r.out, a.Result.Kept)
	r.pruned(*a.Result)
}

// purging reports that the snapshots of a deleted EtcdBackup are being deleted.
func (r *reporter) purging(number int32, began time.Time, d planning.Description) {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = number, second(began), nil
	r.ready(metav1.ConditionFalse, d.Reason, d.Message)
}

func (r *reporter) purgeFailed(a Attempt, d planning.Description) {
	next := second(a.Result.EndedAt.Add(r.s.pause(a.Number)))
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = a.Number, second(a.StartedAt), next
	r.pending(d)
}

// secondOrNil returns nil for a zero time, which never comes.
func secondOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return second(t)
}
