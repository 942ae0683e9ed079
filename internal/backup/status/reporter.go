package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// reporter writes one status: the step of the pass, and what the status always says. What it says about one concern is written by a type
// that has this reporter: running, ended, tests and secondLocation.
type reporter struct {
	planning.Conditions
	s   state.State
	out *v1beta2.EtcdBackupStatus
}

// newReporter writes to out, which has the conditions of the status before.
func newReporter(s state.State, out *v1beta2.EtcdBackupStatus) *reporter {
	return &reporter{s: s, out: out, Conditions: planning.Conditions{
		List: &out.Conditions, Generation: s.Generation, Now: *state.Second(s.Now), Longest: state.MaxMessage,
	}}
}

// written returns the State with the status as far as it is written.
func (r *reporter) written() state.State {
	s := r.s
	s.Status = *r.out
	return s
}

// needsPerson returns whether an attempt fails until a person acts, as far as is known.
func needsPerson(reason string, number int32) bool {
	return problem.Lasts(reason) || grant.Refused(reason) || number >= planning.StalledAfterFailures
}

// scheduled reports a series that waits for its next snapshot. It keeps an earlier report about the same time, which
// may mention a problem as well.
func (r *reporter) scheduled(at time.Time, problem string, d planning.Description) {
	next := state.Second(at)
	if next.Equal(r.out.NextTime) && problem == "" && r.Is(v1beta2.ConditionReady) {
		return
	}
	r.out.NextTime = next
	r.False(v1beta2.ConditionComplete, d.Reason, "A series is never complete.")
	r.False(v1beta2.ConditionRunning, d.Reason, "")
	r.NotFailed(d.Reason)
	r.True(v1beta2.ConditionReady, d.Reason, d.Message)
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

// finished makes Ready true again after a restore test has passed.
func (r *reporter) finished(step plan.Finished, d planning.Description) {
	test := r.out.LastDrill
	if step.Complete && test != nil && test.Result == v1beta2.DrillPassed && r.out.Snapshot != nil {
		r.True(v1beta2.ConditionReady, d.Reason, d.Message)
	}
}

func (r *reporter) suspended(d planning.Description) {
	r.out.NextTime, r.out.NextDrillTime = nil, nil
	r.False(v1beta2.ConditionComplete, d.Reason, "")
	r.False(v1beta2.ConditionRunning, d.Reason, "")
	r.NotFailed(d.Reason)
	r.True(v1beta2.ConditionReady, d.Reason, d.Message)
}

// pending reports something that is not there yet and for which the operator waits or tries again.
func (r *reporter) pending(d planning.Description) {
	r.False(v1beta2.ConditionComplete, d.Reason, "")
	r.False(v1beta2.ConditionRunning, d.Reason, "")
	r.NotFailed(d.Reason)
	r.False(v1beta2.ConditionReady, d.Reason, d.Message)
}

// failed reports a failure that lasts until a user acts.
func (r *reporter) failed(f state.Failure) {
	r.unsucceeded(f)
	r.out.NextTime = nil
	r.False(v1beta2.ConditionComplete, f.Reason, "")
	r.False(v1beta2.ConditionRunning, f.Reason, "")
	r.True(v1beta2.ConditionFailed, f.Reason, f.Message)
	r.True(v1beta2.ConditionStalled, f.Reason, f.Message)
	r.False(v1beta2.ConditionReady, f.Reason, f.Message)
}

// stalledIf reports that a person must act, although the operator tries or looks again.
func (r *reporter) stalledIf(is bool, reason, message string) {
	if is {
		r.True(v1beta2.ConditionStalled, reason, message)
	}
}

func (r *reporter) unsucceeded(f state.Failure) {
	r.out.Succeeded, r.out.Reason = false, state.Clip(f.Reason+": "+f.Message)
}

// fill sets every condition that is not set yet, so that all of them exist from the first pass on.
func (r *reporter) fill() {
	for _, kind := range []string{
		v1beta2.ConditionReady, v1beta2.ConditionComplete, v1beta2.ConditionFailed, v1beta2.ConditionRunning, v1beta2.ConditionStalled,
	} {
		if r.Find(kind) == nil {
			r.False(kind, v1beta2.ReasonPending, "")
		}
	}
}

// secondOrNil returns nil for a zero time, which never comes.
func secondOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return state.Second(t)
}
