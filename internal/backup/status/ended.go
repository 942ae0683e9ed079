package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ended reports an attempt that has ended.
type ended struct {
	*reporter
	attempt state.Attempt
	d       planning.Description
}

func (r ended) report() {
	switch r.attempt.Kind {
	case state.KindDrill:
		r.test()
	case state.KindPurge:
		r.purge()
	case state.KindPrune:
		r.prune()
	default:
		r.snapshot()
	}
}

// snapshot reports how an attempt to take a snapshot ended.
func (r ended) snapshot() {
	a := r.attempt
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = a.Number, state.Second(a.StartedAt), nil
	r.pruned()
	tests{r.reporter}.record(a.Result.Drill)
	if a.Result.Failure != nil {
		r.noSnapshot(*a.Result.Failure)
		return
	}
	before := r.out.Snapshot
	state.RecordSuccess(r.out, a, r.s)
	if a.Result.Found {
		secondLocation{r.reporter}.lacks(before)
	}
	if r.s.Series() {
		r.out.Attempts = 0
		r.scheduled(plan.SnapshotTurn(r.written()), a.Result.PruneProblem, r.d)
		return
	}
	r.True(v1beta2.ConditionComplete, r.d.Reason, r.d.Message)
	r.False(v1beta2.ConditionRunning, r.d.Reason, "")
	r.NotFailed(r.d.Reason)
	r.True(v1beta2.ConditionReady, r.d.Reason, r.d.Message)
}

func (r ended) noSnapshot(f state.Failure) {
	if plan.Ends(r.s, f) {
		r.failed(f)
		return
	}
	r.out.NextTime = state.Second(plan.RetryAt(r.s, r.attempt))
	r.unsucceeded(f)
	r.pending(r.d)
	r.stalledIf(needsPerson(f.Reason, r.attempt.Number), f.Reason, r.d.Message)
}

func (r ended) test() {
	a := r.attempt
	r.False(v1beta2.ConditionRunning, v1beta2.ReasonVerified, "")
	if a.Result.Failure != nil {
		r.out.DrillAttempts, r.out.NextDrillTime = a.Number, state.Second(a.Result.EndedAt.Add(plan.TestDelay(a.Number)))
		r.Set(v1beta2.ConditionVerified, metav1.ConditionUnknown, r.d.Reason, r.d.Message)
		tests{r.reporter}.recordUnfinished(a.Result.Drill, a.Result.Failure.Message)
		return
	}
	r.out.DrillAttempts = 0
	tests{r.reporter}.record(a.Result.Drill)
	tests{r.reporter}.recordProof(a.Result.Proof)
	r.out.NextDrillTime = secondOrNil(plan.TestTurn(r.written()))
}

func (r ended) prune() {
	r.out.LastPruneTime = state.Second(r.attempt.StartedAt)
	r.False(v1beta2.ConditionRunning, r.d.Reason, "")
	if f := r.attempt.Result.Failure; f != nil {
		r.False(v1beta2.ConditionPruned, f.Reason, f.Message)
		return
	}
	r.out.Snapshots = state.AllAsRecorded(*r.out, r.attempt.Result.Kept)
	r.pruned()
}

// pruned reports whether the old snapshots were deleted.
func (r ended) pruned() {
	p, result := r.s.Spec.BackupPolicy, r.attempt.Result
	switch {
	case result.PruneProblem != "":
		r.False(v1beta2.ConditionPruned, result.PruneReason, result.PruneProblem)
	case result.Failure == nil && r.s.Series() && (p.MaxBackups > 0 || p.Retention != nil):
		r.True(v1beta2.ConditionPruned, v1beta2.ReasonPruned, "")
	case result.Failure == nil:
		r.Remove(v1beta2.ConditionPruned)
	}
}

// purge reports an attempt to delete all snapshots that failed. After one that succeeded, there is no EtcdBackup.
func (r ended) purge() {
	a := r.attempt
	next := state.Second(a.Result.EndedAt.Add(plan.PauseAfterFailures(r.s, a.Number)))
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = a.Number, state.Second(a.StartedAt), next
	r.pending(r.d)
}
