package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
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

// exactPatience is how long a restore waits for a quorum that can be fenced. A restart of a member or an election is shorter.
const exactPatience = 5 * time.Minute

const awaitsExactSnapshot = "The old members refuse writes while restore-operator saves their data exactly. Then the seed takes over."

// wantsExact reports whether the seed must not take over before the safety snapshot has every acknowledged write. The status has it, too, because the
// EtcdRestore may be deleted behind the fence.
func (s State) wantsExact() bool {
	exact := s.Restore != nil && s.Restore.SafetySnapshotPolicy == v1beta2.SafetySnapshotExact
	if s.Requested() { // and not of another EtcdRestore, which waits
		exact = s.Request.Safety == v1beta2.SafetySnapshotExact
	}
	return exact && s.Formed()
}

// savedExactly reports whether the safety snapshot has the last revision that the fenced members acknowledged.
func (s State) savedExactly() bool {
	if !s.Requested() {
		return false // nothing is known of it any more
	}
	saved, last := s.Request.Saved, s.lastRevision()
	return s.Restore.LastRevision > 0 && saved != nil && saved.Result == v1beta2.SafetySnapshotTaken && saved.Revision >= last
}

// WroteSince reports whether the old members have acknowledged more than the exact safety snapshot has, because somebody disarmed the fence and the
// operator has set it again in this pass.
func (s State) WroteSince() bool {
	return s.wantsExact() && s.FencedAt > 0 && !s.savedExactly() && len(s.oldHolders()) > 0
}

// exactSnapshot is asked in the step Switching when the seed serves. It waits behind the fence for the safety snapshot.
func (s State) exactSnapshot() Step {
	switch {
	case !s.wantsExact() || s.savedExactly() || len(s.oldHolders()) == 0: // without any data there is nothing to save
		return nil
	case s.RestoreUnverified:
		return Wait{Reason: v1beta2.ReasonRestoring, Stalled: true, Message: s.notRequested() + " The safety snapshot is to be exact, so the seed does not take over until restore-operator has verified it again. To cancel, delete the EtcdRestore."}
	case !s.Requested():
		return s.failSwitch(s.notRequested() + " The old members were not saved exactly, so the seed does not take over.")
	case s.WritesFenced():
		return s.saveExactly()
	case s.oldQuorumRuns(): // their quorum was lost before the fence. They serve on, so the restore looks again
		return ReturnToSeeding{}
	}
	return s.failSwitch("The old members do not answer, so they could not be saved exactly.")
}

// saveExactly asks for the safety snapshot behind the fence, and waits for it.
func (s State) saveExactly() Step {
	saved, asked := s.Request.Saved, s.Restore.SeedReadyTime
	switch {
	case asked == nil:
		return AwaitSafetySnapshot{}
	case saved == nil || s.Request.SavedFor.Before(asked.Time):
	case saved.Result != v1beta2.SafetySnapshotTaken:
		return s.failSwitch(planning.Sentence("The exact safety snapshot could not be taken: ", saved.Message))
	default:
		return s.failSwitch(fmt.Sprintf("The safety snapshot ends at revision %d, but the old members acknowledged writes up to revision %d.", saved.Revision, s.lastRevision()))
	}
	if left := s.seedReadySince().Add(v1beta2.SafetySnapshotLimit).Sub(s.Now); left > 0 {
		return s.waitForExact(min(left, requeueStarting))
	}
	return s.failSwitch(fmt.Sprintf("The exact safety snapshot was not taken within %s. The EtcdRestore has the last failure. If it has none, check that restore-operator is running.", v1beta2.SafetySnapshotLimit))
}

func (s State) waitForExact(requeue time.Duration) Wait {
	return Wait{Reason: v1beta2.ReasonRestoring, Message: awaitsExactSnapshot, Requeue: requeue, Limit: 2 * v1beta2.SafetySnapshotLimit}
}

// waitsForExact reports whether one of these waits is that for the exact safety snapshot: the fence is then not in vain.
func (s State) waitsForExact(waits []WaitKey) bool {
	return slices.Contains(waits, s.waitForExact(0).key())
}

// mayNotSaveExactly is asked in the step Seeding when the seed serves. It says why the old members cannot be fenced; nil if they can.
func (s State) mayNotSaveExactly() Step {
	if s.mayFence() {
		return nil
	}
	if lowest, known := s.versions(); known != "" && etcdversion.Older(lowest, fencesFrom) {
		return FailRestore{Message: fmt.Sprintf("The safety snapshot is to be exact. That needs etcd %s, and a member runs %s. The cluster was not changed. "+
			"Create an EtcdRestore with another name and with safetySnapshot: Required.", fencesFrom, lowest)}
	}
	wait := Wait{Reason: v1beta2.ReasonRestoring, Message: "The safety snapshot is to be exact, so the operator waits for a quorum that can refuse writes. The cluster is not changed."}
	if _, lasted := s.lasted(wait.key()); lasted >= exactPatience {
		return FailRestore{Message: fmt.Sprintf("The safety snapshot is to be exact, and no quorum has answered for %s. The cluster was not changed. "+
			"To restore without the writes since the last backup, create an EtcdRestore with another name and with safetySnapshot: IfPossible.", exactPatience)}
	}
	return wait
}
