package plan

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// AwaitSafetySnapshot records that the seed is ready. restore-operator then saves the old cluster, which still serves. It
// does so again if a safety snapshot is older than the time that was recorded last.
type AwaitSafetySnapshot struct{}

func (AwaitSafetySnapshot) describe(s state.State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonRestoring, Message: state.AwaitsSafety(s), Requeue: state.RequeueSoon}
}

// safetyAge is the maximum age of a safety snapshot when the members are stopped. It is twice the limit of the wait, so
// that a snapshot that took all of that time is not too old when it is ready.
const safetyAge = 2 * v1beta2.SafetySnapshotLimit

// safetySnapshot waits until the safety snapshot of a formed cluster is taken, or restore-operator reports that it cannot
// be. The wait has a limit, because restore-operator may not run. While the cluster was paused or the seed was lost, the
// members acknowledged writes: a snapshot from before that is taken again, also if the first could not be taken.
func safetySnapshot(s state.State) Step {
	if s.Request.Safety == "" || !s.Formed() {
		return nil
	}
	if state.WantsExact(s) {
		return mayNotSaveExactly(s)
	}
	required, saved := s.Request.Safety == v1beta2.SafetySnapshotRequired, s.Request.Saved
	switch {
	case saved != nil && required && saved.Result != v1beta2.SafetySnapshotTaken:
		return FailRestore{Message: planning.Sentence("The safety snapshot is required and could not be taken: ", saved.Message) + " The cluster was not changed."}
	case saved != nil && !safetyIsOld(s):
		return nil
	case s.Restore.SeedReadyTime == nil || saved != nil && !s.Request.SavedFor.Before(s.Restore.SeedReadyTime.Time):
		return AwaitSafetySnapshot{}
	}
	left := seedReadySince(s).Add(v1beta2.SafetySnapshotLimit).Sub(s.Now)
	switch {
	case left > 0:
		return Wait{Reason: v1beta2.ReasonRestoring, Message: state.AwaitsSafetySnapshot, Requeue: min(left, state.RequeueStarting), Limit: safetyAge}
	case required:
		return FailRestore{Message: fmt.Sprintf("The safety snapshot is required and was not taken within %s. Check that restore-operator is running. The cluster was not changed.", v1beta2.SafetySnapshotLimit)}
	case s.Now.Sub(seedReadySince(s)) > safetyAge:
		return AwaitSafetySnapshot{}
	}
	return nil
}

// seedReadySince is when the operator asked for the safety snapshot of the restore under way.
func seedReadySince(s state.State) time.Time {
	if s.SeedReadySince.IsZero() && s.Restore.SeedReadyTime != nil {
		return s.Restore.SeedReadyTime.Time
	}
	return s.SeedReadySince
}

// safetyIsOld returns whether the safety snapshot lacks the writes of too long a time, or could not be taken so long ago. While the clocks differ, an
// operator that has just started has first seen the answer now, so the time that is stored counts, too.
func safetyIsOld(s state.State) bool {
	return max(s.Now.Sub(s.Request.Saved.Time.Time), state.Stamp(s).Sub(s.Request.SavedFor)) > safetyAge
}

// askedFor is the time that names the next request for a safety snapshot. It is after that of the last answer, which a clock that was ahead may
// have written.
func askedFor(s state.State) time.Time {
	at := state.Stamp(s)
	if s.Request != nil && !s.Request.SavedFor.IsZero() {
		at = state.Later(at, s.Request.SavedFor.Add(time.Second))
	}
	return at
}
