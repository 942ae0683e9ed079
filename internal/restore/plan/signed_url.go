package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// The seed reads the object by a signed URL if restore-operator has read it with its own identity. The URL is in a Secret
// that the EtcdRestore owns. It is written before the snapshot is accepted, and replaced before it expires.

// leastRenewal is the shortest time between two signatures. The identity of the operator may end at once.
const leastRenewal = 15 * time.Second

// SignedUntil returns the status of a URL that was signed now. It is renewed when half of its time is over.
func SignedUntil(now time.Time, secret string, expires time.Time) v1beta2.SignedURLStatus {
	half := max(expires.Sub(now)/2, leastRenewal)
	expiration, renewal := metav1.NewTime(expires).Rfc3339Copy(), metav1.NewTime(now.Add(half)).Rfc3339Copy()
	return v1beta2.SignedURLStatus{SecretName: secret, ExpirationTime: &expiration, RenewalTime: &renewal}
}

// NotSignedYet returns the status after a failure that may pass. The operator tries again, also for the first URL.
func NotSignedYet(now time.Time, before v1beta2.SignedURLStatus, why string) v1beta2.SignedURLStatus {
	after := NotSigned(now, before, why)
	next := metav1.NewTime(now.Add(state.RenewalPause)).Rfc3339Copy()
	after.RenewalTime = &next
	return after
}

// NotSigned returns the status after a failure. The URL of before may still be valid.
func NotSigned(now time.Time, before v1beta2.SignedURLStatus, why string) v1beta2.SignedURLStatus {
	after := *before.DeepCopy()
	after.Message = planning.Shorten(why, maxWhyNotSigned)
	if after.SecretName != "" {
		next := metav1.NewTime(now.Add(state.RenewalPause)).Rfc3339Copy()
		after.RenewalTime = &next
	}
	return after
}

// maxWhyNotSigned leaves room for the rest of the message of the condition Verified.
const maxWhyNotSigned = 400

// signedURLExpires replaces the signed URL of a seed that may still read it.
func signedURLExpires(s state.State) steps.Step {
	left, due := s.RenewalIn()
	switch {
	case !due || left > 0 || s.Renewal.Progress == state.ProofRunning:
		return nil
	case s.Renewal.Progress == state.ProofNone, equality.Semantic.DeepEqual(&s.Renewal.URL, s.Restore.Status.SignedURL):
		return steps.RenewURL{} // a result that is recorded already is followed by another attempt
	}
	return steps.RecordURL{URL: s.Renewal.URL}
}
