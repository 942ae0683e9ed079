package backup

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// watch shows how far the attempt is.
func (r *reporter) watch(a Attempt) {
	switch a.Kind {
	case KindDrill:
		r.drilling(a.Progress)
	case KindPurge:
		r.purging(a.Number, a.StartedAt)
	default:
		r.running(a.Number, a.StartedAt, a.Progress)
	}
}

// ended says how the attempt did.
func (r *reporter) ended(a Attempt) {
	switch a.Kind {
	case KindDrill:
		r.drillEnded(a)
	case KindPurge:
		r.purgeFailed(a)
	default:
		r.report(a)
	}
}

// progress of the running attempt, for scripts and columns.
func (r *reporter) progress(p Progress) {
	out := &v1beta2.BackupProgress{Stage: p.Stage, Bytes: p.Bytes, TotalBytes: p.About, BytesPerSecond: p.PerSecond}
	if p.About > 0 {
		out.Percent = int32(min(p.Bytes*100/p.About, 99)) //nolint:gosec // at most 99
	}
	r.out.Progress = out
}

// drilling changes nothing of what is said about the snapshots.
func (r *reporter) drilling(p Progress) {
	r.progress(p)
	r.set(v1beta2.ConditionRunning, metav1.ConditionTrue, v1beta2.ReasonVerifying, p.String())
}

func (r *reporter) drillEnded(a Attempt) {
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, v1beta2.ReasonVerified, "")
	if f := a.Result.Failure; f != nil {
		next := second(a.Result.EndedAt.Add(delay(a.Number)))
		r.out.DrillAttempts, r.out.NextDrillTime = a.Number, next
		r.set(v1beta2.ConditionVerified, metav1.ConditionUnknown, f.Reason,
			fmt.Sprintf("the drill could not be carried out: %s (the next try is due at %s)", f.Message, stamp(next.Time)))
		return
	}
	r.out.DrillAttempts = 0
	r.drilled(a.Result.Drill)
	state := r.s
	state.Status = r.out
	r.out.NextDrillTime = secondOrNil(state.drillTurn())
}

// drilled notes what was found where a snapshot was read back.
func (r *reporter) drilled(d *v1beta2.BackupDrill) {
	if d == nil {
		return
	}
	noted := *d
	noted.Time = *second(d.Time.Time)
	r.out.LastDrill = &noted
	if d.Result == v1beta2.DrillPassed {
		r.set(v1beta2.ConditionVerified, metav1.ConditionTrue, v1beta2.ReasonVerified, d.Message)
		return
	}
	r.set(v1beta2.ConditionVerified, metav1.ConditionFalse, v1beta2.ReasonSnapshotCorrupt, broken(*d))
}

// distrust: nothing is well while the last snapshot that was tried out could not be restored.
func (r *reporter) distrust() {
	d := r.out.LastDrill
	if d != nil && d.Result == v1beta2.DrillFailed && meta.IsStatusConditionTrue(r.out.Conditions, v1beta2.ConditionReady) {
		r.ready(metav1.ConditionFalse, v1beta2.ReasonSnapshotCorrupt, broken(*d))
	}
}

// finished says again what a drill had put in doubt.
func (r *reporter) finished(step Finished) {
	d := r.out.LastDrill
	if step.Complete && d != nil && d.Result == v1beta2.DrillPassed && r.out.Snapshot != nil {
		r.ready(metav1.ConditionTrue, v1beta2.ReasonComplete, describe(*r.out.Snapshot))
	}
}

func (r *reporter) suspended() {
	r.out.NextTime, r.out.NextDrillTime = nil, nil
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, v1beta2.ReasonSuspended, "")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, v1beta2.ReasonSuspended, "")
	r.calm(v1beta2.ReasonSuspended)
	r.ready(metav1.ConditionTrue, v1beta2.ReasonSuspended, "no snapshots are taken while backupPolicy.suspend is true")
}

// pruned says whether what is not kept is gone.
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

// purging: the EtcdBackup was deleted, and its snapshots go first.
func (r *reporter) purging(number int32, began time.Time) {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = number, second(began), nil
	r.ready(metav1.ConditionFalse, v1beta2.ReasonRemovingSnapshots, "the snapshots are being removed, as deletionPolicy says")
}

func (r *reporter) purgeFailed(a Attempt) {
	next := second(a.Result.EndedAt.Add(delay(a.Number)))
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = a.Number, second(a.StartedAt), next
	r.pending(a.Result.Failure.Reason, fmt.Sprintf(
		"the snapshots were not removed: %s (the next attempt is due at %s; write deletionPolicy: Retain to leave them there; at %s they are left there)",
		a.Result.Failure.Message, stamp(next.Time), stamp(r.s.DeletedAt.Add(purgeLimit))))
}

// secondOrNil is nil for a time that never comes.
func secondOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return second(t)
}
