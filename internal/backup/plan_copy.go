package backup

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// The copies to a second location are attempts of their own, beside those of the first one, so that a location that fails
// delays no snapshot.

type (
	// Copy starts to copy snapshots to the second location.
	Copy struct{ Number int32 }
	// CancelCopy stops a copy, or drops its result: the spec has changed.
	CancelCopy struct{}
	// ReportCopy writes the result of a copy into the status.
	ReportCopy struct{}
)

func (Copy) describe(State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonCopying, Message: copying, Requeue: atOnce}
}

func (CancelCopy) describe(State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonCopying, Message: "The operator stopped the copy, because the spec has changed.", Requeue: atOnce}
}

func (ReportCopy) describe(s State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonCopied, Message: "The second location has the newest snapshot.", Requeue: atOnce}
	if s.Copy == nil || s.Copy.Result == nil || s.Copy.Result.Failure == nil {
		return d
	}
	f := *s.Copy.Result.Failure
	d.Reason = f.Reason
	d.Message = fmt.Sprintf("%s This was attempt %d to copy. The next attempt is due at %s. The first location is not affected.",
		f.Message, s.Copy.Number, stamp(s.Copy.Result.EndedAt.Add(delayUpTo(s.Copy.Number, problem.Longest(f.Reason)))))
	d.Events = []planning.Event{newEvent(corev1.EventTypeWarning, "CopyFailed", actionCopy, d.Message)}
	return d
}

// copying is the message while snapshots are copied.
const copying = "The operator is copying snapshots to the second location."

const actionCopy = "CopySnapshots"

// copyIsOutdated drops what an old spec has asked for.
func copyIsOutdated(s State) Step {
	if s.Copy == nil || s.Copy.Generation == s.Generation {
		return nil
	}
	return CancelCopy{}
}

func copyHasEnded(s State) Step {
	if s.Copy == nil || s.Copy.Result == nil {
		return nil
	}
	return ReportCopy{}
}

// copyIsDue comes before all rules that wait, because a copy needs neither the cluster nor the first location's turn.
func copyIsDue(s State) Step {
	at := s.copyTurn()
	if at.IsZero() || s.Now.Before(at) {
		return nil
	}
	number := int32(1)
	if c := s.Status.Copies; c != nil && c.ObservedGeneration == s.Generation {
		number = c.Attempts + 1
	}
	return Copy{Number: number}
}

// copyTurn returns when snapshots are to be copied. It is zero if nothing is to be copied, or if a copy runs.
func (s State) copyTurn() time.Time {
	c, newest := s.Status.Copies, s.recorded()
	switch {
	case s.Spec.CopyTo == nil || !s.Series() || s.Problem != nil || s.Refused != nil || s.CopyProblem != nil || s.Copy != nil:
		return time.Time{}
	case newest == nil || newest.ClusterID == "":
		return time.Time{}
	case c == nil || c.ObservedGeneration != s.Generation || c.LastAttemptTime == nil:
		return s.Now
	case c.Attempts > 0:
		return s.copyRetry(c)
	}
	return s.nextCopy(c, newest)
}

// nextCopy returns when a copy follows one that did not fail.
func (s State) nextCopy(c *v1beta2.BackupCopies, newest *v1beta2.Snapshot) time.Time {
	pruned, taken := s.Status.LastPruneTime, s.Status.LastSuccessDate
	switch {
	case s.ahead(c.LastAttemptTime):
		return s.Now
	case s.ahead(pruned), s.ahead(taken) && !copied(c, newest):
		return c.LastAttemptTime.Add(lastDelay) // it is not known whether there is something to do
	case c.Missing > 0 || pruned != nil && pruned.After(c.LastAttemptTime.Time):
		return s.Now
	case copied(c, newest) || taken == nil || taken.Time.Before(c.LastAttemptTime.Time):
		return time.Time{} // the newest snapshot is there, or the second location does not keep it
	}
	return s.Now
}

// ahead returns whether a time in the status comes from a clock that was ahead. Without a pause, what it makes due would be repeated until the
// clock has reached it.
func (s State) ahead(at *metav1.Time) bool { return at != nil && clock.Ahead(at.Time, s.Now) }

// copyRetry returns when a failed copy is repeated. An attempt without a result counts as failed. A time that is later than
// the longest pause comes from a clock that was ahead, and does not count.
func (s State) copyRetry(c *v1beta2.BackupCopies) time.Time {
	at := c.LastAttemptTime.Add(delay(c.Attempts))
	if c.NextTime != nil {
		at = c.NextTime.Time
	}
	if clock.Ahead(at, s.Now.Add(s.longestCopyPause())) {
		return s.Now
	}
	return at
}

// longestCopyPause is the longest pause after a failed copy.
func (s State) longestCopyPause() time.Duration {
	if c := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionCopied); c != nil {
		return problem.Longest(c.Reason)
	}
	return lastDelay
}

// copied reports whether the second location has the snapshot.
func copied(c *v1beta2.BackupCopies, s *v1beta2.Snapshot) bool {
	return c.Newest != nil && c.Newest.SHA256 == s.SHA256 && c.Newest.CreatedAt == s.CreatedAt
}

// lastCopy copies the final snapshot of a deleted series, before the EtcdBackup is released.
func lastCopy(s State) Step {
	left := s.left(finalLimit)
	if !s.Held || !s.Spec.FinalSnapshot || s.Spec.CopyTo == nil || left <= 0 {
		return nil
	}
	if s.Copy == nil && s.copyTurn().IsZero() {
		return nil
	}
	for _, rule := range []func(State) Step{copyIsOutdated, copyHasEnded, copyIsDue} {
		if step := rule(s); step != nil {
			return step
		}
	}
	return Wait{Reason: v1beta2.ReasonCopying, Message: copying, Requeue: min(left, progressInterval), Patient: true}
}

// soonest returns the shorter pause, if a copy or a report about the archive is due before the next pass.
func (s State) soonest(requeue time.Duration) time.Duration {
	if s.archived() {
		if due := s.archiveReport(); requeue == 0 || requeue > due {
			requeue = due
		}
	}
	turn := s.copyTurn()
	if turn.IsZero() || s.Deleting {
		return requeue
	}
	if wait := sleep(s.Now, turn); requeue == 0 || wait < requeue {
		return wait
	}
	return requeue
}
