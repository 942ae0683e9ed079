package plan

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// AwaitSafetySnapshot records that the seed is ready. restore-operator then saves the old cluster, which still serves. It
// does so again if a safety snapshot is older than the time that was recorded last.
type AwaitSafetySnapshot struct{}

const awaitsSafetySnapshot = "The seed serves the snapshot. Before the switch, restore-operator saves the present data. The members continue to serve."

func (AwaitSafetySnapshot) describe(s State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonRestoring, Message: s.awaitsSafety(), Requeue: requeueSoon}
}

// awaitsSafety says what restore-operator does, and whether the members take writes.
func (s State) awaitsSafety() string {
	if s.wantsExact() {
		return awaitsExactSnapshot
	}
	return awaitsSafetySnapshot
}

// safetyAge is the maximum age of a safety snapshot when the members are stopped. It is twice the limit of the wait, so
// that a snapshot that took all of that time is not too old when it is ready.
const safetyAge = 2 * v1beta2.SafetySnapshotLimit

// safetySnapshot waits until the safety snapshot of a formed cluster is taken, or restore-operator reports that it cannot
// be. The wait has a limit, because restore-operator may not run. While the cluster was paused or the seed was lost, the
// members acknowledged writes: a snapshot from before that is taken again, also if the first could not be taken.
func (s State) safetySnapshot() Step {
	if s.Request.Safety == "" || !s.Formed() {
		return nil
	}
	if s.wantsExact() {
		return s.mayNotSaveExactly()
	}
	required, saved := s.Request.Safety == v1beta2.SafetySnapshotRequired, s.Request.Saved
	switch {
	case saved != nil && required && saved.Result != v1beta2.SafetySnapshotTaken:
		return FailRestore{Message: planning.Sentence("The safety snapshot is required and could not be taken: ", saved.Message) + " The cluster was not changed."}
	case saved != nil && !s.safetyIsOld():
		return nil
	case s.Restore.SeedReadyTime == nil || saved != nil && !s.Request.SavedFor.Before(s.Restore.SeedReadyTime.Time):
		return AwaitSafetySnapshot{}
	}
	left := s.seedReadySince().Add(v1beta2.SafetySnapshotLimit).Sub(s.Now)
	switch {
	case left > 0:
		return Wait{Reason: v1beta2.ReasonRestoring, Message: awaitsSafetySnapshot, Requeue: min(left, requeueStarting), Limit: safetyAge}
	case required:
		return FailRestore{Message: fmt.Sprintf("The safety snapshot is required and was not taken within %s. Check that restore-operator is running. The cluster was not changed.", v1beta2.SafetySnapshotLimit)}
	case s.Now.Sub(s.seedReadySince()) > safetyAge:
		return AwaitSafetySnapshot{}
	}
	return nil
}

// seedReadySince is when the operator asked for the safety snapshot of the restore under way.
func (s State) seedReadySince() time.Time {
	if s.SeedReadySince.IsZero() && s.Restore.SeedReadyTime != nil {
		return s.Restore.SeedReadyTime.Time
	}
	return s.SeedReadySince
}

// safetyIsOld returns whether the safety snapshot lacks the writes of too long a time, or could not be taken so long ago. While the clocks differ, an
// operator that has just started has first seen the answer now, so the time that is stored counts, too.
func (s State) safetyIsOld() bool {
	return max(s.Now.Sub(s.Request.Saved.Time.Time), s.stamp().Sub(s.Request.SavedFor)) > safetyAge
}

// askedFor is the time that names the next request for a safety snapshot. It is after that of the last answer, which a clock that was ahead may
// have written.
func (s State) askedFor() time.Time {
	at := s.stamp()
	if s.Request != nil && !s.Request.SavedFor.IsZero() {
		at = later(at, s.Request.SavedFor.Add(time.Second))
	}
	return at
}
