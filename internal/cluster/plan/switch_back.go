package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A switch goes back as long as a quorum of the old members serves, and it ends if the seed is lost and the old members can continue. If they
// cannot, the seed may have the only data that is left, so the operator keeps it.

// ReturnToSeeding records that the old members continue to serve until the seed and the safety snapshot were checked again.
type ReturnToSeeding struct{}

func (ReturnToSeeding) describe(State) planning.Description {
	return announced(planning.Description{
		Reason: v1beta2.ReasonRestoring,
		Message: "The old members have served since the switch was recorded, so the operator does not stop them yet. " +
			"It checks the seed and the safety snapshot again.",
		Requeue: requeueSoon,
	}, "RestoreSeedingAgain", cluster)
}

// reconsider returns to Seeding if the old members have served since the switch was recorded, because the cluster was paused or the
// operator did not run: the safety snapshot lacks their writes, or the seed's revision is too low by now.
func (s State) reconsider() Step {
	seed, _ := s.seed()
	if !s.requested() || !s.MembershipKnown || !seed.Serving || !s.oldQuorumRuns() {
		return nil
	}
	if s.seedBehind(seed) == "" && s.safetySnapshot() == nil {
		return nil
	}
	return ReturnToSeeding{}
}

// oldQuorumRuns reports whether a quorum of the old voters runs, and none of it was asked to stop.
func (s State) oldQuorumRuns() bool {
	return s.haveQuorum(s.where(func(m Member) bool { return s.mayVote(m) && m.Pod == PodRunning }))
}

// oldMayContinue reports whether enough of the old voters have their data for a quorum. A cluster that has never formed has no data.
func (s State) oldMayContinue() bool {
	return !s.Formed() || len(s.oldHolders()) >= etcd.Quorum(max(1, s.oldVoters()))
}

// oldHolders returns the voters of the cluster that a restore replaces that keep their data. Voters with their data in their Pods lose it
// when the operator stops them, and a learner's data is no way back.
func (s State) oldHolders() []Member {
	return s.where(func(m Member) bool {
		voted := len(s.KnownVoters) == 0 || slices.Contains(s.KnownVoters, m.Name)
		going := s.inPod(m) && m.Pod == PodDeleting
		return s.mayVote(m) && voted && s.HoldsData(m) && !going
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
	return Wait{Reason: v1beta2.ReasonRestoring, Stalled: true, Message: why + s.seedIsKept(seed)}
}

// seedIsKept says why the operator keeps a seed, and what a person can do.
func (s State) seedIsKept(seed Member) string {
	kept := s.fewHolders() + ", so the operator keeps the seed."
	if s.inPod(seed) {
		return kept + " Its data is in Pod " + seed.Name + ". If you delete the Pod, this data is lost."
	}
	return kept + " To start it again, delete Pod " + seed.Name + ". To give up its data, delete the PersistentVolumeClaim of that name, too."
}

// fewHolders says how many of the old voters have their data.
func (s State) fewHolders() string {
	have, voters := len(s.oldHolders()), s.oldVoters()
	if have == 0 || voters == 0 {
		return " No voter of the old cluster has its data"
	}
	return fmt.Sprintf(" Only %d of %d voters of the old cluster have their data", have, voters)
}
