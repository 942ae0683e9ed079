package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// pruned reports whether the old snapshots were deleted.
func (r *reporter) pruned(result state.Result) {
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
	r.out.LastPruneTime = state.Second(began)
	r.set(v1beta2.ConditionRunning, metav1.ConditionTrue, d.Reason, d.Message)
}

func (r *reporter) prunedSuspended(a state.Attempt, d planning.Description) {
	r.out.LastPruneTime = state.Second(a.StartedAt)
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, "")
	if f := a.Result.Failure; f != nil {
		r.set(v1beta2.ConditionPruned, metav1.ConditionFalse, f.Reason, f.Message)
		return
	}
	r.out.Snapshots = state.AllAsRecorded(r.out, a.Result.Kept)
	r.pruned(*a.Result)
}

// purging reports that the snapshots of a deleted EtcdBackup are being deleted.
func (r *reporter) purging(number int32, began time.Time, d planning.Description) {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = number, state.Second(began), nil
	r.ready(metav1.ConditionFalse, d.Reason, d.Message)
}

func (r *reporter) purgeFailed(a state.Attempt, d planning.Description) {
	next := state.Second(a.Result.EndedAt.Add(plan.PauseAfterFailures(r.s, a.Number)))
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = a.Number, state.Second(a.StartedAt), next
	r.pending(d)
}
