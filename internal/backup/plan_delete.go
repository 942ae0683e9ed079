package backup

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// purgeLimit is how long a deleted EtcdBackup is held at most for the sake of its snapshots.
const purgeLimit = 10 * time.Minute

// deleting: with deletionPolicy Delete the snapshots go first, and the object is held so long; but not for ever.
func deleting(s State) Step {
	if !s.Deleting {
		return nil
	}
	if s.Attempt != nil && s.Attempt.Kind != KindPurge {
		return Cancel{}
	}
	if !s.Held {
		return Idle{}
	}
	if s.Spec.DeletionPolicy != v1beta2.DeletionDelete || s.Problem != nil {
		return Release{}
	}
	return purge(s)
}

func purge(s State) Step {
	limit := s.DeletedAt.Add(purgeLimit)
	switch {
	case s.Attempt != nil && s.Attempt.Result == nil:
		return Watch{}
	case s.Attempt != nil && s.Attempt.Result.Failure == nil:
		return Release{Removed: s.Attempt.Result.Pruned}
	case s.Attempt != nil && s.Now.After(limit):
		return Release{Left: s.Attempt.Result.Failure.Message}
	case s.Attempt != nil:
		return Report{}
	case s.retrying() && s.Now.After(limit):
		return Release{Left: fmt.Sprintf("given up after %s", purgeLimit)}
	}
	if step := backoff(s); step != nil {
		return step
	}
	number := int32(1)
	if s.retrying() {
		number = s.Status.Attempts + 1
	}
	return Purge{Number: number}
}

// hold before anything is written, and let go when that is no longer wanted.
func hold(s State) Step {
	switch wanted := s.Spec.DeletionPolicy == v1beta2.DeletionDelete; {
	case wanted && !s.Held:
		return Hold{}
	case !wanted && s.Held:
		return Release{}
	}
	return nil
}

// expire: a one-shot that has ended goes when its time is over.
func expire(s State) Step {
	at := s.expiry()
	if at.IsZero() || s.Now.Before(at) {
		return nil
	}
	return Expire{}
}

// expiry of a one-shot that has ended; zero where it stays.
func (s State) expiry() time.Time {
	ended := s.ended()
	if ended == "" || s.Spec.TTLSecondsAfterFinished == nil {
		return time.Time{}
	}
	since := meta.FindStatusCondition(s.Status.Conditions, ended).LastTransitionTime.Time
	return since.Add(time.Duration(*s.Spec.TTLSecondsAfterFinished) * time.Second)
}
