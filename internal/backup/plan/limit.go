package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

const (
	// PurgeLimit is how long the snapshots may delay the deletion of their EtcdBackup.
	PurgeLimit = 10 * time.Minute
	// sureAttempts is how many attempts are enough if the time of the deletion says that a limit is over. They need more than ten
	// minutes, because of the pauses between them.
	sureAttempts = 15
	// FinalLimit is how long the final snapshot may delay the deletion of its EtcdBackup.
	FinalLimit = 10 * time.Minute
)

// timeLeft returns how much of a limit of the deletion is left. It counts from when this process saw the deletion first: the API
// server has set the time of the deletion, by its own clock. A restart begins to count again, so after some attempts that time counts, too.
func timeLeft(s state.State, limit time.Duration) time.Duration { //nolint:unparam // the two limits are equal only by chance
	left := limit - s.DeletingFor
	if s.Retrying() && s.Status.Attempts >= sureAttempts {
		left = min(left, s.DeletedAt.Add(limit).Sub(s.Now))
	}
	return left
}

// FinalRequest is the request that the deletion makes.
func FinalRequest(deleted time.Time) string { return "final " + state.Stamp(deleted) }

// FinalIsDue returns whether the final snapshot of a deleted series is still to be taken.
func FinalIsDue(s state.State) bool {
	return s.Deleting && s.Held && s.Spec.FinalSnapshot && s.Spec.DeletionPolicy != v1beta2.DeletionDelete && s.Asked()
}
