package restore

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// An exact safety snapshot (safetySnapshot: Exact) has every write that the old members acknowledged. It is taken behind the fence of the
// switch, so clients cannot write while restore-operator takes it:
//
//	 old members   serve ───────── fenced ─────────────────────────── stop
//	 snapshot                        ask ── saved up to lastRevision ─┤
//	 Service       ──▶ old ──────────────────────────────────────────────▶ seed
//	 step          │ Switching                                      │ Growing
//
// If it cannot be taken, the restore fails, the fence is taken back, and the old members accept writes again.

// ExactPatience is how long a restore waits for a quorum that can be fenced. A restart of a member or an election is shorter.
const ExactPatience = 5 * time.Minute

// savedExactly reports whether the safety snapshot has the last revision that the fenced members acknowledged.
func savedExactly(s state.State) bool {
	if !s.Requested() {
		return false // nothing is known of it any more
	}
	saved, last := s.Request.Saved, state.LastRevision(s)
	return s.Restore.LastRevision > 0 && saved != nil && saved.Result == v1beta2.SafetySnapshotTaken && saved.Revision >= last
}

// WroteSince reports whether the old members have acknowledged more than the exact safety snapshot has, because somebody disarmed the fence and the
// operator has set it again in this pass.
func WroteSince(s state.State) bool {
	return state.WantsExact(s) && s.FencedAt > 0 && !savedExactly(s) && len(oldHolders(s)) > 0
}

// exactSnapshot is asked in the step Switching when the seed serves. It waits behind the fence for the safety snapshot.
func exactSnapshot(s state.State) steps.Step {
	switch {
	case !state.WantsExact(s) || savedExactly(s) || len(oldHolders(s)) == 0: // without any data there is nothing to save
		return nil
	case s.RestoreUnverified:
		return steps.Wait{Reason: v1beta2.ReasonRestoring, Stalled: true, Message: state.NotRequested(s) + " The safety snapshot is to be exact, so the seed does not take over until restore-operator has verified it again. To cancel, delete the EtcdRestore."}
	case !s.Requested():
		return failSwitch(s, state.NotRequested(s)+" The old members were not saved exactly, so the seed does not take over.")
	case WritesFenced(s):
		return saveExactly(s)
	case OldQuorumRuns(s): // their quorum was lost before the fence. They serve on, so the restore looks again
		return steps.ReturnToSeeding{}
	}
	return failSwitch(s, "The old members do not answer, so they could not be saved exactly.")
}

// saveExactly asks for the safety snapshot behind the fence, and waits for it.
func saveExactly(s state.State) steps.Step {
	saved, asked := s.Request.Saved, s.Restore.SeedReadyTime
	switch {
	case asked == nil:
		return steps.AwaitSafetySnapshot{}
	case saved == nil || s.Request.SavedFor.Before(asked.Time):
	case saved.Result != v1beta2.SafetySnapshotTaken:
		return failSwitch(s, planning.Sentence("The exact safety snapshot could not be taken: ", saved.Message))
	default:
		return failSwitch(s, fmt.Sprintf("The safety snapshot ends at revision %d, but the old members acknowledged writes up to revision %d.", saved.Revision, state.LastRevision(s)))
	}
	if left := seedReadySince(s).Add(v1beta2.SafetySnapshotLimit).Sub(s.Now); left > 0 {
		return WaitForExact(s, min(left, state.RequeueStarting))
	}
	return failSwitch(s, fmt.Sprintf("The exact safety snapshot was not taken within %s. The EtcdRestore has the last failure. If it has none, check that restore-operator is running.", v1beta2.SafetySnapshotLimit))
}

// WaitForExact waits behind the fence until the exact safety snapshot is taken.
func WaitForExact(s state.State, requeue time.Duration) steps.Wait {
	return steps.Wait{Reason: v1beta2.ReasonRestoring, Message: state.AwaitsExactSnapshot, Requeue: requeue, Limit: 2 * v1beta2.SafetySnapshotLimit}
}

// WaitsForExact reports whether one of these waits is that for the exact safety snapshot: the fence is then not in vain.
func WaitsForExact(s state.State, waits []state.WaitKey) bool {
	return slices.Contains(waits, WaitForExact(s, 0).Key())
}

// mayNotSaveExactly is asked in the step Seeding when the seed serves. It says why the old members cannot be fenced; nil if they can.
func mayNotSaveExactly(s state.State) steps.Step {
	if state.MayFence(s) {
		return nil
	}
	if lowest, known := state.Versions(s); known != "" && etcdversion.Older(lowest, state.FencesFrom) {
		return steps.FailRestore{Message: fmt.Sprintf("The safety snapshot is to be exact. That needs etcd %s, and a member runs %s. The cluster was not changed. "+
			"Create an EtcdRestore with another name and with safetySnapshot: Required.", state.FencesFrom, lowest)}
	}
	wait := steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "The safety snapshot is to be exact, so the operator waits for a quorum that can refuse writes. The cluster is not changed."}
	if _, lasted := state.Lasted(s, wait.Key()); lasted >= ExactPatience {
		return steps.FailRestore{Message: fmt.Sprintf("The safety snapshot is to be exact, and no quorum has answered for %s. The cluster was not changed. "+
			"To restore without the writes since the last backup, create an EtcdRestore with another name and with safetySnapshot: IfPossible.", ExactPatience)}
	}
	return wait
}

// SafetySnapshot waits until the safety snapshot of a formed cluster is taken, or restore-operator reports that it cannot
// be. The wait has a limit, because restore-operator may not run. While the cluster was paused or the seed was lost, the
// members acknowledged writes: a snapshot from before that is taken again, also if the first could not be taken.
func SafetySnapshot(s state.State) steps.Step {
	if s.Request.Safety == "" || !s.Formed() {
		return nil
	}
	if state.WantsExact(s) {
		return mayNotSaveExactly(s)
	}
	required, saved := s.Request.Safety == v1beta2.SafetySnapshotRequired, s.Request.Saved
	switch {
	case saved != nil && required && saved.Result != v1beta2.SafetySnapshotTaken:
		return steps.FailRestore{Message: planning.Sentence("The safety snapshot is required and could not be taken: ", saved.Message) + " The cluster was not changed."}
	case saved != nil && !safetyIsOld(s):
		return nil
	case s.Restore.SeedReadyTime == nil || saved != nil && !s.Request.SavedFor.Before(s.Restore.SeedReadyTime.Time):
		return steps.AwaitSafetySnapshot{}
	}
	left := seedReadySince(s).Add(v1beta2.SafetySnapshotLimit).Sub(s.Now)
	switch {
	case left > 0:
		return steps.Wait{Reason: v1beta2.ReasonRestoring, Message: state.AwaitsSafetySnapshot, Requeue: min(left, state.RequeueStarting), Limit: SafetyAge}
	case required:
		return steps.FailRestore{Message: fmt.Sprintf("The safety snapshot is required and was not taken within %s. Check that restore-operator is running. The cluster was not changed.", v1beta2.SafetySnapshotLimit)}
	case s.Now.Sub(seedReadySince(s)) > SafetyAge:
		return steps.AwaitSafetySnapshot{}
	}
	return nil
}
