package state

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
)

// RenewalPause is the pause after a failed renewal.
const RenewalPause = time.Minute

// RenewalIn returns how long the signed URL need not be renewed. due is false if the seed needs none.
func (s State) RenewalIn() (left time.Duration, due bool) {
	url, progress := s.Restore.Status.SignedURL, s.Progress()
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
	if url.ExpirationTime != nil && clock.Due(url.RenewalTime.Time, url.ExpirationTime.Sub(url.RenewalTime.Time)+RenewalPause, s.Now) {
		left = min(left, 0) // its half of the time is over, or the clock was ahead when it was signed
	}
	return left, true
}
