package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
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
	if _, has := s.SafetyStore(); !has && s.Restore.Status.Volume != nil {
		return steps.RecordSafety{Cluster: *progress, Snapshot: state.NotTaken(s, noSafetyStore(s), progress.SeedReadyTime)}
	}
	step := steps.SaveOldData{Cluster: *progress, Requeue: steps.ProgressInterval}
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
		if givesUpSafety(s, *progress.SeedReadyTime) {
			return steps.RecordSafety{Cluster: *progress, Snapshot: state.NotTaken(s, s.Safety.Message, progress.SeedReadyTime)}
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

// noSafetyStore says why nothing can be saved before a restore from a volume.
func noSafetyStore(s state.State) string {
	return "A volume has no store, and no EtcdBackup of EtcdCluster " + s.Cluster.Name + " has a snapshot in the store of its spec. The volumes of the old members are kept for the time in spec.recovery.keepReplacedVolumes."
}

// safetyPatience is how long an attempt that failed is repeated if the safety snapshot is not required. Time that was lost to other namespaces
// says nothing about the members and the store, so it is added. An attempt that ended because of them is repeated for as long as cluster-operator waits.
const safetyPatience = 5 * time.Minute

// givesUpSafety returns whether the restore continues after a failed attempt. A short fault of a member or of the store
// must not cost the old data, so the operator waits. It does not wait if the store refuses to write, or if the cluster has no
// quorum and so serves no client. An earlier snapshot remains in the status: cluster-operator ends the wait then.
func givesUpSafety(s state.State, ready metav1.Time) bool {
	earlier := s.Restore.Status.SafetySnapshot
	policy := s.Restore.Spec.SafetySnapshotPolicy()
	if policy == v1beta2.SafetySnapshotExact && s.Safety.Refused && earlier == nil {
		return true // clients cannot write while it waits
	}
	if policy.Requires() || earlier != nil && earlier.Result == v1beta2.SafetySnapshotTaken {
		return false
	}
	patience := min(safetyPatience+s.Safety.Lost, v1beta2.SafetySnapshotLimit)
	if s.Safety.Others {
		patience = v1beta2.SafetySnapshotLimit
	}
	if s.OfPrefixes() && s.WaitedFor(ready, patience) {
		return true
	}
	return s.Safety.Refused || !s.Now.Before(ready.Add(patience)) || meta.IsStatusConditionFalse(s.Cluster.Status.Conditions, v1beta2.ConditionAvailable)
}
