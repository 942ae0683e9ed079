package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// Interrupted waits until At after an attempt that ended with the operator, because the snapshot may be why it ended.
type Interrupted struct{ At time.Time }

func (i Interrupted) describe(s State) planning.Description {
	if s.ofPrefixes() && s.Proven() {
		return s.announced(corev1.EventTypeWarning, planning.Description{
			Reason: v1beta2.ReasonRetrying,
			Message: fmt.Sprintf("restore-operator ended while it wrote keys, at attempt %d. Those that are written are as they are in the snapshot. The next attempt is at %s.",
				s.Restore.Status.Attempts, i.At.UTC().Format(time.RFC3339)),
			Requeue: i.At.Sub(s.Now),
		})
	}
	return s.announced(corev1.EventTypeWarning, planning.Description{
		Reason: v1beta2.ReasonRetrying,
		Message: fmt.Sprintf("restore-operator ended during attempt %d to read the snapshot. The cluster was not changed. The next attempt is at %s.",
			s.Restore.Status.Attempts, i.At.UTC().Format(time.RFC3339)),
		Requeue: i.At.Sub(s.Now),
	})
}

// afterInterruption returns the pause after an attempt that has begun and has no result. The pause counts from when an operator sees
// that first. A status of an earlier version does not say that an attempt began, and gives no pause.
func (s State) afterInterruption() Step {
	longest := problem.Longest(v1beta2.ReasonRetrying)
	status := s.Restore.Status
	switch {
	case status.LastAttemptTime != nil:
		return Interrupted{At: s.Now.Add(backoff(status.Attempts, longest))}
	case status.NextTime != nil && !clock.Due(status.NextTime.Time, longest, s.Now):
		return Interrupted{At: status.NextTime.Time}
	}
	return nil
}

// attempt records that an attempt has begun, before it reads anything, and that it has ended.
func (r report) attempt(s State, step Step) {
	result := s.Proof.Progress == ProofDone || s.Proof.Progress == ProofFailed
	switch step := step.(type) {
	case Verify:
		r.status.NextTime, r.status.LastAttemptTime = nil, nil
		if !s.Full {
			r.status.LastAttemptTime = &r.now
		}
	case Verifying:
		if !step.Queued && r.status.LastAttemptTime == nil {
			r.status.LastAttemptTime = &r.now
		}
	case RestoreKeys:
		if step.Start {
			r.status.NextTime, r.status.LastAttemptTime = nil, &r.now
		}
	case Interrupted:
		at := metav1.NewTime(step.At).Rfc3339Copy()
		r.status.LastAttemptTime, r.status.NextTime = nil, &at
	default:
		if result || s.Proven() {
			r.status.LastAttemptTime, r.status.NextTime = nil, nil
		}
	}
}
