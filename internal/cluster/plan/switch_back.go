package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A switch may return to its seed while a quorum of the old members runs. It ends if the seed is lost and the old members can continue.
// If they cannot, the seed may have the only data that is left, so the operator keeps it.

// maxReturns is how often a switch returns to its seed and continues. If something refuses to stop the old members, each return costs a
// safety snapshot.
const maxReturns = 2

// ReturnToSeeding records that the old members continue to serve until the seed and the safety snapshot were checked again.
type ReturnToSeeding struct{}

func (ReturnToSeeding) describe(s State) planning.Description {
	next := "It checks the seed and the safety snapshot again."
	if s.Restore != nil && !s.Requested() {
		next = s.notRequested() + " The restore ends."
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: "The old members have served since the switch was recorded, so the operator does not stop them yet. " + next,
		Requeue: requeueSoon,
	}, "RestoreSeedingAgain", cluster)
}

// reconsider returns to Seeding if a quorum of the old members may have served since the switch was recorded, because the cluster was paused
// or the operator did not run. Then the safety snapshot lacks their writes, the seed's revision is too low by now, or the operator cannot
// stop a quorum any more. It also returns if the EtcdRestore was deleted: that cancels the restore, also if the members do not answer. If
// it has lost its status, a quorum that serves ends the restore, too: its writes would be lost later. One that does not serve waits.
func (s State) reconsider() Step {
	seed, _ := s.seed()
	unknown, _ := s.QuorumUnknown()
	serves := s.MembershipKnown || s.Guarded() || unknown
	switch {
	case !s.oldQuorumRuns() || !serves && s.Requested():
		return nil
	case s.RestoreUnverified && !serves:
		return Wait{Reason: v1beta2.ReasonRestoring, Stalled: true, Message: s.notRequested() + " The operator stops no member until restore-operator has verified it again. To cancel, delete the EtcdRestore."}
	case s.Requested() && (!seed.Serving || (s.seedBehind(seed) == "" && s.safetySnapshot() == nil && s.cannotHandOver() == nil)):
		return nil
	}
	return ReturnToSeeding{}
}

// heldUp ends a restore whose switch was held up too often; empty if it was not.
func (s State) heldUp() string {
	if s.Restore.Returns <= maxReturns {
		return ""
	}
	return fmt.Sprintf("The switch was held up %d times, and the old members serve. The cluster was paused, the operator did not run, or it cannot stop the old members. "+
		"Correct that, for example exempt these Pods from a webhook. Then create an EtcdRestore with another name.", s.Restore.Returns)
}

// oldQuorumRuns reports whether a quorum of the old voters runs, and none of it was asked to stop. A restore that is not asked for any more
// leaves voters alone that may start again, too. Foreign voters alone are no reason to return.
func (s State) oldQuorumRuns() bool {
	running := slices.DeleteFunc(slices.Clone(s.oldRunning()), func(m Member) bool {
		return m.Pod == PodDeleting || m.Pod != PodRunning && s.Requested()
	})
	return len(running) > 0 && s.haveQuorum(running)
}

// oldMayContinue reports whether enough of the old voters have their data for a quorum. A cluster that has never formed has no data.
func (s State) oldMayContinue() bool {
	return !s.Formed() || len(s.oldHolders()) >= etcd.Quorum(max(1, s.oldVoters()))
}

// oldHolders returns the voters of the cluster that a restore replaces that keep their data. Voters with their data in their Pods lose it
// when the operator stops them, and a learner's data is no way back.
func (s State) oldHolders() []Member {
	return s.where(func(m Member) bool {
		going := s.goesWithPod(m) && m.Pod == PodDeleting
		return s.mayVote(m) && !s.unrecorded(m) && s.HoldsData(m) && !going
	})
}

// failSwitch ends a restore whose seed has no data to keep.
func (s State) failSwitch(why string) Step {
	if s.oldMayContinue() {
		return FailRestore{Message: why + oldContinue}
	}
	return FailRestore{Message: why + s.fewHolders() + ". Create an EtcdRestore with another name."}
}

// oldContinue ends the message of a restore that fails while it switches.
const oldContinue = " The old members continue with their data."

// keepSeed ends a restore whose seed has data but does not serve, if the old members can continue. Otherwise a person decides.
func (s State) keepSeed(seed Member, why string) Step {
	if s.oldMayContinue() {
		return FailRestore{Message: why + oldContinue}
	}
	return Wait{Reason: v1beta2.ReasonRestoring, Stalled: true, Message: why + s.fewHolders() + ", so the operator keeps the seed." + s.seedIsKept(seed)}
}

// seedIsKept says what a person can do with a seed that is kept.
func (s State) seedIsKept(seed Member) string {
	switch {
	case seed.Pod == PodDeleting:
		return " Pod " + seed.Name + " has not stopped. " + howToEnd(seed)
	case s.inPod(seed) && s.Requested():
		return " To restore it again from the snapshot, delete Pod " + seed.Name + "."
	case s.inPod(seed):
		return " If Pod " + seed.Name + " has started, it has data. This data is lost if you delete the Pod."
	}
	return " To start it again, delete Pod " + seed.Name + ". To give up its data, delete the PersistentVolumeClaim of that name, too."
}

// fewHolders says how many of the old voters have their data.
func (s State) fewHolders() string {
	have, voters := len(s.oldHolders()), s.oldVoters()
	if have == 0 || voters == 0 {
		return " No voter of the old cluster has its data"
	}
	return fmt.Sprintf(" Only %d of %d voters of the old cluster have their data", have, voters)
}
