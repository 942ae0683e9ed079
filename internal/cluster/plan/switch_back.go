package plan

import (
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
	}, "RestoreSeeding", cluster)
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

// oldMayContinue reports whether enough of the old members have their data for a quorum. A cluster that has never formed has no data.
func (s State) oldMayContinue() bool {
	holders := s.where(func(m Member) bool { return s.mayVote(m) && s.HoldsData(m) })
	return !s.Formed() || len(holders) >= etcd.Quorum(max(1, s.oldVoters()))
}

// failSwitch ends a restore whose seed has no data to keep.
func (s State) failSwitch(why string) Step {
	if s.oldMayContinue() {
		return FailRestore{Message: why + oldContinue}
	}
	return FailRestore{Message: why + " Too few of the old members have their data for a quorum. Create an EtcdRestore with another name."}
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
	const kept = " Too few of the old members have their data for a quorum, so the operator keeps the seed."
	if s.inPod(seed) {
		return kept + " Its data is in Pod " + seed.Name + ". If you delete the Pod, this data is lost."
	}
	return kept + " To start it again, delete Pod " + seed.Name + ". To give up its data, delete the PersistentVolumeClaim of that name, too."
}
