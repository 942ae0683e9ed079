package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// proved reports a dry run that has ended: nothing is restored, and nothing has failed.
func (r report) proved(step steps.Proved, d planning.Description) {
	r.status.Percent, r.status.Choice, r.status.Reason = 100, step.ChosenBecause, ""
	r.status.Snapshot, r.status.PointInTime = &step.Snapshot, step.Point
	r.comparedKeys(step.Keys, nil)
	r.status.CompletionTime = &r.Now
	r.True(v1beta2.ConditionReady, d.Reason, d.Message)
	r.verified(d)
	r.False(v1beta2.ConditionRestoring, d.Reason, "This is a dry run.")
	r.False(v1beta2.ConditionComplete, d.Reason, "This is a dry run. The cluster is not restored.")
	r.NotFailed(d.Reason)
}

// attempt records that an attempt has begun, before it reads anything, and that it has ended.
func (r report) attempt(s state.State, step steps.Step) {
	result := s.Proof.Progress == state.ProofDone || s.Proof.Progress == state.ProofFailed
	switch step := step.(type) {
	case steps.Verify:
		r.status.NextTime, r.status.LastAttemptTime = nil, nil
		if !s.Full {
			r.status.LastAttemptTime = &r.Now
		}
	case steps.Verifying:
		if !step.Queued && r.status.LastAttemptTime == nil {
			r.status.LastAttemptTime = &r.Now
		}
	case steps.RestoreKeys:
		if step.Start {
			r.status.NextTime, r.status.LastAttemptTime = nil, &r.Now
		}
	case steps.Interrupted:
		at := metav1.NewTime(step.At).Rfc3339Copy()
		r.status.LastAttemptTime, r.status.NextTime = nil, &at
	default:
		if result || s.Proven() {
			r.status.LastAttemptTime, r.status.NextTime = nil, nil
		}
	}
}
