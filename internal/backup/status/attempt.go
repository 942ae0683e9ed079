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

// running keeps what was reported about the attempt before, until this one has ended.
func (r *reporter) running(number int32, began time.Time, p state.Progress, d planning.Description) {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = number, state.Second(began), nil
	r.progress(p)
	r.set(v1beta2.ConditionRunning, metav1.ConditionTrue, d.Reason, d.Message)
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, d.Reason, "")
	if number == 1 {
		r.notFailed(d.Reason)
	}
	before := meta.FindStatusCondition(r.out.Conditions, v1beta2.ConditionReady)
	switch {
	case before != nil && r.s.Series() && before.Status == metav1.ConditionTrue:
		r.ready(before.Status, before.Reason, before.Message)
	case before == nil || number == 1:
		r.ready(metav1.ConditionFalse, d.Reason, "The operator is taking the snapshot.")
	}
}

// taken reports how an attempt to take a snapshot ended.
func (r *reporter) taken(a state.Attempt, d planning.Description) {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = a.Number, state.Second(a.StartedAt), nil
	r.pruned(*a.Result)
	r.tested(a.Result.Drill)
	if a.Result.Failure != nil {
		r.unsuccessful(a, d)
		return
	}
	before := r.out.Snapshot
	state.RecordSuccess(&r.out, a, r.s)
	if a.Result.Found {
		r.foundUncopied(before)
	}
	if r.s.Series() {
		r.out.Attempts = 0
		state := r.s
		state.Status = r.out
		r.scheduled(plan.SnapshotTurn(state), a.Result.PruneProblem, d)
		return
	}
	r.set(v1beta2.ConditionComplete, metav1.ConditionTrue, d.Reason, d.Message)
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, "")
	r.notFailed(d.Reason)
	r.ready(metav1.ConditionTrue, d.Reason, d.Message)
}

func (r *reporter) unsuccessful(a state.Attempt, d planning.Description) {
	f := *a.Result.Failure
	if plan.Ends(r.s, f) {
		r.failed(f)
		return
	}
	r.out.NextTime = state.Second(plan.RetryAt(r.s, a))
	r.unsucceeded(f)
	r.pending(d)
	r.stalledIf(needsPerson(f.Reason, a.Number), f.Reason, d.Message)
}

// backoff keeps the report about the failed attempt. If the operator was stopped during it, there is no report yet.
func (r *reporter) backoff(step plan.Backoff, d planning.Description) {
	if !step.Interrupted {
		return
	}
	r.out.NextTime = state.Second(step.At)
	r.unsucceeded(state.Failure{Reason: d.Reason, Message: d.Message})
	r.pending(d)
	r.stalledIf(needsPerson(d.Reason, r.out.Attempts), d.Reason, d.Message)
}

// watch shows the progress of the attempt.
func (r *reporter) watch(a state.Attempt, d planning.Description) {
	switch a.Kind {
	case state.KindDrill:
		r.testing(a.Progress, d)
	case state.KindPrune:
		r.pruning(a.StartedAt, d)
	case state.KindPurge:
		r.purging(a.Number, a.StartedAt, d)
	default:
		r.running(a.Number, a.StartedAt, a.Progress, d)
	}
}

// ended reports how the attempt ended.
func (r *reporter) ended(a state.Attempt, d planning.Description) {
	switch a.Kind {
	case state.KindDrill:
		r.testEnded(a, d)
	case state.KindPurge:
		r.purgeFailed(a, d)
	case state.KindPrune:
		r.prunedSuspended(a, d)
	default:
		r.taken(a, d)
	}
}

// finished makes Ready true again after a restore test has passed.
func (r *reporter) finished(step plan.Finished, d planning.Description) {
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
