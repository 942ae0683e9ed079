package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// AwaitSafetySnapshot records that the seed is ready. restore-operator then saves the old cluster, which still serves.
type AwaitSafetySnapshot struct{}

const awaitsSafetySnapshot = "The seed serves the snapshot. Before the switch, restore-operator saves the present data. The members continue to serve."

func (AwaitSafetySnapshot) describe(State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonRestoring, Message: awaitsSafetySnapshot, Requeue: requeueSoon}
}

// safetySnapshot waits until the safety snapshot of a formed cluster is taken, or restore-operator reports that it cannot
// be. The wait has a limit, because restore-operator may not run.
func (s State) safetySnapshot() Step {
	if s.Request.Safety == "" || !s.Formed() {
		return nil
	}
	required, saved := s.Request.Safety == v1beta2.SafetySnapshotRequired, s.Request.Saved
	switch {
	case saved != nil && required && saved.Result != v1beta2.SafetySnapshotTaken:
		return FailRestore{Message: planning.Sentence("The safety snapshot is required and could not be taken: ", saved.Message) + " The cluster was not touched."}
	case saved != nil:
		return nil
	case s.Restore.SeedReadyTime == nil:
		return AwaitSafetySnapshot{}
	}
	left := s.Restore.SeedReadyTime.Add(v1beta2.SafetySnapshotLimit).Sub(s.Now)
	switch {
	case left > 0:
		return Wait{Reason: v1beta2.ReasonRestoring, Message: awaitsSafetySnapshot, Requeue: min(left, requeueStarting)}
	case required:
		return FailRestore{Message: fmt.Sprintf("The safety snapshot is required and was not taken within %s. Check that restore-operator is running. The cluster was not touched.", v1beta2.SafetySnapshotLimit)}
	}
	return nil
}
