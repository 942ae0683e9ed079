package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// reporter writes one status.
type reporter struct {
	s   state.State
	out v1beta2.EtcdBackupStatus
}

// needsPerson returns whether an attempt fails until a person acts, as far as is known.
func needsPerson(reason string, number int32) bool {
	return problem.Lasts(reason) || grant.Refused(reason) || number >= planning.StalledAfterFailures
}

// scheduled reports a series that waits for its next snapshot. It keeps an earlier report about the same time, which
// may mention a problem as well.
func (r *reporter) scheduled(at time.Time, problem string, d planning.Description) {
	next := state.Second(at)
	if next.Equal(r.out.NextTime) && problem == "" && meta.IsStatusConditionTrue(r.out.Conditions, v1beta2.ConditionReady) {
		return
	}
	r.out.NextTime = next
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, d.Reason, "A series is never complete.")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, "")
	r.notFailed(d.Reason)
	r.ready(metav1.ConditionTrue, d.Reason, d.Message)
}

// pending reports something that is not there yet and for which the operator waits or tries again.
func (r *reporter) pending(d planning.Description) {
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, d.Reason, "")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, "")
	r.notFailed(d.Reason)
	r.ready(metav1.ConditionFalse, d.Reason, d.Message)
}

// failed reports a failure that lasts until a user acts.
func (r *reporter) failed(f state.Failure) {
	r.unsucceeded(f)
	r.out.NextTime = nil
	r.set(v1beta2.ConditionComplete, metav1.ConditionFalse, f.Reason, "")
	r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, f.Reason, "")
	r.set(v1beta2.ConditionFailed, metav1.ConditionTrue, f.Reason, f.Message)
	r.set(v1beta2.ConditionStalled, metav1.ConditionTrue, f.Reason, f.Message)
	r.ready(metav1.ConditionFalse, f.Reason, f.Message)
}

// stalledIf reports that a person must act, although the operator tries or looks again.
func (r *reporter) stalledIf(is bool, reason, message string) {
	if is {
		r.set(v1beta2.ConditionStalled, metav1.ConditionTrue, reason, message)
	}
}

func (r *reporter) unsucceeded(f state.Failure) {
	r.out.Succeeded, r.out.Reason = false, state.Clip(f.Reason+": "+f.Message)
}

// notFailed reports that no user needs to act.
func (r *reporter) notFailed(reason string) {
	r.set(v1beta2.ConditionFailed, metav1.ConditionFalse, reason, "")
	r.set(v1beta2.ConditionStalled, metav1.ConditionFalse, reason, "")
}

// fill sets every condition that is not set yet, so that all of them exist from the first pass on.
func (r *reporter) fill() {
	for _, kind := range []string{
		v1beta2.ConditionReady, v1beta2.ConditionComplete, v1beta2.ConditionFailed, v1beta2.ConditionRunning, v1beta2.ConditionStalled,
	} {
		if meta.FindStatusCondition(r.out.Conditions, kind) == nil {
			r.set(kind, metav1.ConditionFalse, v1beta2.ReasonPending, "")
		}
	}
}

func (r *reporter) ready(status metav1.ConditionStatus, reason, message string) {
	r.set(v1beta2.ConditionReady, status, reason, message)
}

func (r *reporter) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&r.out.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: state.Clip(message),
		ObservedGeneration: r.s.Generation, LastTransitionTime: *state.Second(r.s.Now),
	})
}

// secondOrNil returns nil for a zero time, which never comes.
func secondOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return state.Second(t)
}
