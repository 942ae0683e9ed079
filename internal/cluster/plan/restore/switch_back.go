package restore

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A switch may return to its seed while a quorum of the old members runs. It ends if the seed is lost and the old members can continue.
// If they cannot, the seed may have the only data that is left, so the operator keeps it.

// maxReturns is how often a switch returns to its seed and continues. If something refuses to stop the old members, each return costs a
// safety snapshot.
const maxReturns = 2

// heldUp ends a restore whose switch was held up too often; empty if it was not.
func heldUp(s state.State) string {
	if s.Restore.Returns <= maxReturns {
		return ""
	}
	return fmt.Sprintf("The switch was held up %d times, and the old members serve. The cluster was paused, the operator did not run, or it cannot stop the old members. "+
		"Correct that, for example exempt these Pods from a webhook. Then create an EtcdRestore with another name.", s.Restore.Returns)
}

// OldMayContinue reports whether enough of the old voters have their data for a quorum. A cluster that has never formed has no data.
func OldMayContinue(s state.State) bool {
	if isStandby(s) && !s.Formed() { // it may be the last copy of the data
		return false
	}
	return !s.Formed() || len(oldHolders(s)) >= etcd.Quorum(max(1, state.OldVoters(s)))
}

// oldHolders returns the voters of the cluster that a restore replaces that keep their data. Voters with their data in their Pods lose it
// when the operator stops them, and a learner's data is no way back.
func oldHolders(s state.State) []state.Member {
	return s.Where(func(m state.Member) bool {
		going := state.GoesWithPod(s, m) && m.Pod == state.PodDeleting
		return mayVote(s, m) && !unrecorded(s, m) && s.HoldsData(m) && !going
	})
}

// failSwitch ends a restore whose seed has no data to keep.
func failSwitch(s state.State, why string) steps.Step {
	if OldMayContinue(s) {
		return steps.FailRestore{Message: why + OldContinue}
	}
	return steps.FailRestore{Message: why + fewHolders(s) + ". Create an EtcdRestore with another name."}
}

// OldContinue ends the message of a restore that fails while it switches.
const OldContinue = " The old members continue with their data."

// keepSeed ends a restore whose seed has data but does not serve, if the old members can continue. Otherwise a person decides.
func keepSeed(s state.State, seed state.Member, why string) steps.Step {
	if OldMayContinue(s) {
		return steps.FailRestore{Message: why + OldContinue}
	}
	return steps.Wait{Reason: v1beta2.ReasonRestoring, Stalled: true, Message: why + fewHolders(s) + ", so the operator keeps the seed." + SeedIsKept(s, seed)}
}

// SeedIsKept says what a person can do with a seed that is kept.
func SeedIsKept(s state.State, seed state.Member) string {
	switch {
	case seed.Pod == state.PodDeleting:
		return " Pod " + seed.Name + " has not stopped. " + state.HowToEnd(seed)
	case state.InPod(s, seed) && s.Requested():
		return " To restore it again from the snapshot, delete Pod " + seed.Name + "."
	case state.InPod(s, seed):
		return " If Pod " + seed.Name + " has started, it has data. This data is lost if you delete the Pod."
	}
	return " To start it again, delete Pod " + seed.Name + ". To give up its data, delete the PersistentVolumeClaim of that name, too."
}

// fewHolders says how many of the old voters have their data.
func fewHolders(s state.State) string {
	have, voters := len(oldHolders(s)), state.OldVoters(s)
	if have == 0 || voters == 0 {
		return " No voter of the old cluster has its data"
	}
	return fmt.Sprintf(" Only %d of %d voters of the old cluster have their data", have, voters)
}
