package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// CopyTurn returns when snapshots are to be copied. It is zero if nothing is to be copied, or if a copy runs.
func CopyTurn(s state.State) time.Time {
	c, newest := s.Status.Copies, s.Recorded()
	switch {
	case s.Spec.CopyTo == nil || !s.Series() || s.Problem != nil || s.Refused != nil || s.CopyProblem != nil || s.Copy != nil:
		return time.Time{}
	case newest == nil || newest.ClusterID == "":
		return time.Time{}
	case c == nil || c.ObservedGeneration != s.Generation || c.LastAttemptTime == nil:
		return s.Now
	case c.Attempts > 0:
		return copyRetry(s, c)
	}
	return nextCopy(s, c, newest)
}

// nextCopy returns when a copy follows one that did not fail.
func nextCopy(s state.State, c *v1beta2.BackupCopies, newest *v1beta2.Snapshot) time.Time {
	pruned, taken := s.Status.LastPruneTime, s.Status.LastSuccessDate
	switch {
	case isAhead(s, c.LastAttemptTime):
		return s.Now
	case isAhead(s, pruned), isAhead(s, taken) && !Copied(c, newest):
		return c.LastAttemptTime.Add(LastDelay) // it is not known whether there is something to do
	case c.Missing > 0 || pruned != nil && pruned.After(c.LastAttemptTime.Time):
		return s.Now
	case Copied(c, newest) || taken == nil || taken.Time.Before(c.LastAttemptTime.Time):
		return time.Time{} // the newest snapshot is there, or the second location does not keep it
	}
	return s.Now
}

// isAhead returns whether a time in the status comes from a clock that was ahead. Without a pause, what it makes due would be repeated until the
// clock has reached it.
func isAhead(s state.State, at *metav1.Time) bool { return at != nil && clock.Ahead(at.Time, s.Now) }

// copyRetry returns when a failed copy is repeated. An attempt without a result counts as failed. A time that is later than
// the longest pause comes from a clock that was ahead, and does not count.
func copyRetry(s state.State, c *v1beta2.BackupCopies) time.Time {
	at := c.LastAttemptTime.Add(delay(c.Attempts))
	if c.NextTime != nil {
		at = c.NextTime.Time
	}
	if clock.Ahead(at, s.Now.Add(longestCopyPause(s))) {
		return s.Now
	}
	return at
}

// longestCopyPause is the longest pause after a failed copy.
func longestCopyPause(s state.State) time.Duration {
	if c := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionCopied); c != nil {
		return problem.Longest(c.Reason)
	}
	return LastDelay
}

// Copied reports whether the second location has the snapshot.
func Copied(c *v1beta2.BackupCopies, s *v1beta2.Snapshot) bool {
	return c.Newest != nil && c.Newest.SHA256 == s.SHA256 && c.Newest.CreatedAt == s.CreatedAt
}
