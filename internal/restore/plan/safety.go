package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// The safety snapshot saves the data that the restore replaces. It is taken when the seed is ready, so that it lacks as
// little as possible. Its key and its mark are the same in every attempt: an operator that was killed finds it again.

const (
	// safetyPause is the pause between two attempts to take a safety snapshot.
	safetyPause = 20 * time.Second
)

// oldDataIsNotSaved saves the old cluster when cluster-operator waits for that.
func oldDataIsNotSaved(s state.State) steps.Step {
	progress := s.Progress()
	if s.OfPrefixes() && s.Restore.Spec.SafetySnapshotPolicy() == v1beta2.SafetySnapshotSkip {
		return nil // cluster-operator asks for none of a whole cluster
	}
	if progress == nil || !s.MayAskForSafety(*progress) || progress.SeedReadyTime == nil || s.SafetyRecorded() {
		return nil
	}
	step := steps.SaveOldData{Cluster: *progress, Requeue: state.ProgressInterval}
	switch s.Safety.Progress {
	case state.ProofRunning:
		return step
	case state.ProofDone:
		at := metav1.NewTime(s.Safety.Time).Rfc3339Copy()
		if !at.Before(progress.SeedReadyTime) {
			return steps.RecordSafety{Cluster: *progress, Snapshot: v1beta2.SafetySnapshotStatus{
				Result: v1beta2.SafetySnapshotTaken, Path: s.Safety.Path, Revision: s.Safety.Revision, Time: at,
			}}
		}
	case state.ProofFailed:
		if s.GivesUpSafety(*progress.SeedReadyTime) {
			return steps.RecordSafety{Cluster: *progress, Snapshot: s.NotTaken(s.Safety.Message, progress.SeedReadyTime)}
		}
		if fail := keysAreNotSaved(s, *progress.SeedReadyTime); fail != nil {
			return fail
		}
		step.Failure = s.Safety.Message
		step.Start = !s.Now.Before(s.Safety.Ended.Add(safetyPause))
		return step
	case state.ProofNone, state.ProofQueued:
	}
	step.Start = true
	return step
}
