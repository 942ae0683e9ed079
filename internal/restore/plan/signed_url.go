package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// The seed reads the object by a signed URL if restore-operator has read it with its own identity. The URL is in a Secret
// that the EtcdRestore owns. It is written before the snapshot is accepted, and replaced before it expires.

// Renewal is the attempt to replace the signed URL, as far as it is known.
type Renewal struct {
	Progress Progress
	// URL is the new status, also after a failure.
	URL v1beta2.SignedURLStatus
}

type (
	// RenewURL starts to replace the signed URL.
	RenewURL struct{}
	// RecordURL stores what became of that.
	RecordURL struct{ URL v1beta2.SignedURLStatus }
)

func (RenewURL) describe(s State) planning.Description {
	return planning.Description{Reason: s.readyReason(), Message: s.readyMessage()}
}

func (step RecordURL) describe(s State) planning.Description {
	d := planning.Description{Reason: s.readyReason(), Message: s.readyMessage()}
	if before := s.Restore.Status.SignedURL; before != nil && before.SecretName != "" && step.URL.SecretName == "" {
		d.Events = []planning.Event{{Type: corev1.EventTypeWarning, Reason: "SignedURLRevoked", Action: actionRestore, Note: planning.Shorten(
			planning.Sentence("The operator deleted the signed URL for the seed: ", step.URL.Message)+" A seed that has not read the snapshot yet needs rights of its own.", planning.MaxNote)}}
		return d
	}
	if step.URL.Message != "" {
		d.Events = []planning.Event{{Type: corev1.EventTypeWarning, Reason: "SignedURLNotRenewed", Action: actionRestore, Note: planning.Shorten(
			planning.Sentence("The signed URL for the seed could not be renewed: ", step.URL.Message)+" The operator tries again.", planning.MaxNote)}}
	}
	return d
}

// renewalPause is the pause after a failed renewal.
const renewalPause = time.Minute

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
	next := metav1.NewTime(now.Add(renewalPause)).Rfc3339Copy()
	after.RenewalTime = &next
	return after
}

// NotSigned returns the status after a failure. The URL of before may still be valid.
func NotSigned(now time.Time, before v1beta2.SignedURLStatus, why string) v1beta2.SignedURLStatus {
	after := *before.DeepCopy()
	after.Message = planning.Shorten(why, maxWhyNotSigned)
	if after.SecretName != "" {
		next := metav1.NewTime(now.Add(renewalPause)).Rfc3339Copy()
		after.RenewalTime = &next
	}
	return after
}

// maxWhyNotSigned leaves room for the rest of the message of the condition Verified.
const maxWhyNotSigned = 400

// RenewalIn returns how long the signed URL need not be renewed. due is false if the seed needs none.
func (s State) RenewalIn() (left time.Duration, due bool) {
	url, progress := s.Restore.Status.SignedURL, s.progress()
	switch {
	case url == nil || url.RenewalTime == nil || s.Finished() || !s.Restore.DeletionTimestamp.IsZero():
		return 0, false
	case progress != nil && progress.Step != v1beta2.RestoreSeeding && progress.Step != v1beta2.RestoreSwitching:
		return 0, false // the seed is complete
	case url.SecretName == "" && progress != nil:
		return 0, false // the seed was created without a URL
	}
	if s.Revoked && url.Message == "" {
		return 0, true // the next renewal deletes the Secret with the URL; after a failure it is tried again
	}
	left = url.RenewalTime.Sub(s.Now)
	if url.ExpirationTime != nil && clock.Due(url.RenewalTime.Time, url.ExpirationTime.Sub(url.RenewalTime.Time)+renewalPause, s.Now) {
		left = min(left, 0) // its half of the time is over, or the clock was ahead when it was signed
	}
	return left, true
}

// signedURLExpires replaces the signed URL of a seed that may still read it.
func signedURLExpires(s State) Step {
	left, due := s.RenewalIn()
	switch {
	case !due || left > 0 || s.Renewal.Progress == ProofRunning:
		return nil
	case s.Renewal.Progress == ProofNone, equality.Semantic.DeepEqual(&s.Renewal.URL, s.Restore.Status.SignedURL):
		return RenewURL{} // a result that is recorded already is followed by another attempt
	}
	return RecordURL{s.Renewal.URL}
}
