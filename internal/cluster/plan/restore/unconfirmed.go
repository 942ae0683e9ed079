package restore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A restore replaces the old members only if they can acknowledge no more writes. A member has stopped for certain if it
// has no Pod, or if its node reports that the Pod has ended. Members on a node that does not answer may run on. If they
// are too few for a quorum of the old voters, they acknowledge no write, and the client Service does not select them.

// unconfirmed returns whether a member's Pod may run on, and nobody can see or stop it.
func unconfirmed(s state.State, m state.Member) bool {
	return m.Pod != state.PodNone && m.Pod != state.PodEnded && !m.Stopped && (m.NodeSilent || state.Overdue(s, m))
}

// mayVote returns whether a member may be a voter of the cluster that a restore replaces.
func mayVote(s state.State, m state.Member) bool {
	return m.Incarnation == max(s.Incarnation, state.FirstIncarnation) && !m.NeverRan() && (!s.MembershipKnown || (m.InMembership && !m.Learner))
}

// HaveQuorum returns whether these members of the old cluster could acknowledge writes among themselves. A member that the record of
// the voters does not have may be a learner, or somebody may have promoted it: it counts among the members and among the voters. So does
// a foreign learner.
func HaveQuorum(s state.State, members []state.Member) bool {
	voters := 0 // not known
	alone := slices.ContainsFunc(members, func(m state.Member) bool { return mayBeAlone(s, m) })
	running := len(members) + len(s.ForeignMembers)
	if state.OldVoters(s) > 0 {
		voters = state.VotersBeside(s, s.ForeignMembers)
		for _, m := range members {
			if unrecorded(s, m) {
				voters++
			}
		}
	}
	return running > 0 && (voters == 0 || alone || running >= etcd.Quorum(voters))
}

// unrecorded returns whether no quorum answers, and a member is not in the record of the voters.
func unrecorded(s state.State, m state.Member) bool {
	return !s.MembershipKnown && len(s.KnownVoters) > 0 && !slices.Contains(s.KnownVoters, m.Name)
}

// mayBeAlone returns whether a member may be a quorum of its own: it is the survivor of a lost quorum. The recorded voters are
// those from before, until a quorum answers that it is alone. Its Pod may have no flag any more, because a restore took that off.
func mayBeAlone(s state.State, m state.Member) bool {
	return m.Start == state.StartForce || (s.Forcing() && m.Name == s.Recovery.Member)
}

// Unstoppable waits for a person if the operator could not stop the old cluster: the members that nobody can stop are a
// quorum of it.
func Unstoppable(s state.State) steps.Step {
	unconfirmed := s.Where(func(m state.Member) bool { return mayVote(s, m) && unconfirmed(s, m) })
	trusting := trusting(s)
	switch {
	case !HaveQuorum(trusting, unconfirmed):
		return nil
	case HaveQuorum(trusting, nil):
		return steps.Wait{
			Reason: v1beta2.ReasonForeignMember, Stalled: true,
			Message: fmt.Sprintf("The seed of EtcdRestore %s serves. %s, so the restore does not continue. %s To cancel, delete the EtcdRestore.", s.Restore.Name, mayWrite(trusting, state.OldVoters(s)), howToStop(s)),
		}
	}
	of := ""
	if voters := state.OldVoters(s); voters > 0 {
		of = fmt.Sprintf(" of %d", voters)
	}
	return steps.Wait{
		Reason: v1beta2.ReasonPodFailing,
		Message: fmt.Sprintf("The seed of EtcdRestore %s serves, but the nodes of %d%s old members do not answer: %s. The members may still accept writes, so the restore does not continue. The old members that answer continue to serve. %s To cancel, delete the EtcdRestore.",
			s.Restore.Name, len(unconfirmed), of, strings.Join(state.MemberNames(unconfirmed), ", "), state.HowToEnd(unconfirmed...)),
		Stalled: true,
	}
}

// OldMemberStops waits until the old members that may run are too few for a quorum. All have been asked to stop. A member that
// has requests in flight, and lost its quorum, takes two seconds for that, and clients would wait for it.
func OldMemberStops(s state.State) steps.Step {
	var running []state.Member
	for _, m := range s.Members {
		switch {
		case m.Incarnation == s.Restore.Incarnation || m.Pod != state.PodDeleting || m.Stopped || m.NeverRan():
		case mayVote(s, m):
			running = append(running, m)
		case !unconfirmed(s, m):
			return waitForOld(s, m)
		}
	}
	if len(running) == 0 || !HaveQuorum(trusting(s), running) {
		return nil
	}
	for _, m := range running {
		if !unconfirmed(s, m) {
			return waitForOld(s, m)
		}
	}
	return waits.WaitUntilGone(s, running[0], v1beta2.ReasonRestoring, "The node of member "+running[0].Name+" has not confirmed that it stopped. Then the seed takes over.")
}

// foreignQuorum stops a switch if voters that the operator did not add may be a quorum without its own members. It cannot stop them, and
// sees none of them any more.
func foreignQuorum(s state.State) steps.Step {
	seed, _ := state.SeedMember(s)
	trusting := trusting(s)
	if !HaveQuorum(trusting, nil) {
		return nil
	}
	back := fmt.Sprintf("delete EtcdRestore %s, then Pod %s", s.Restore.Name, seed.Name)
	if state.Cancelled(s) {
		back = "delete Pod " + seed.Name
	}
	if !state.InPod(s, seed) {
		back += ", and the PersistentVolumeClaim of that name"
	}
	return steps.Wait{
		Reason: v1beta2.ReasonForeignMember, Stalled: true,
		Message: fmt.Sprintf("%s, so seed %s does not take over. The old members have stopped, so clients wait. %s To return to the old members, %s.", mayWrite(trusting, state.OldVoters(s)), seed.Name, howToStop(s), back),
	}
}

// trusting returns the State without the foreign members that have stopped, as a person says in an annotation. The consent to remove
// them is no such statement: they may run. A quorum that serves contradicts the statement, or does not need it.
func trusting(s state.State) state.State {
	if unknown, _ := state.QuorumUnknown(s); !unknown && !s.MembershipKnown && !state.Guarded(s) {
		s.ForeignMembers = state.MaybeServing(s)
	}
	return s
}

// mayWrite says that foreign members may still serve, as the beginning of a sentence.
func mayWrite(s state.State, voters int) string {
	of := "voters"
	if state.ForeignLearners(s) > 0 {
		of = "members that vote or may vote"
	}
	return fmt.Sprintf("The operator did not add %d of %d old %s, so it cannot stop them. They may still accept writes", len(s.ForeignMembers), voters+state.ForeignLearners(s), of)
}

// howToStop says what a person does about foreign members.
func howToStop(s state.State) string {
	switch {
	case s.MembershipKnown:
		return "Remove them with etcdctl member remove, those that have stopped first."
	case state.Guarded(s):
		refusal := state.Refusal(s, s.Incarnation)
		return "A quorum serves, and the operator cannot see whether they were removed. " + state.WhyRefused(s, refusal) + " " + state.HowToPermit(s, refusal)
	}
	return state.SayStopped(s)
}

func waitForOld(s state.State, m state.Member) steps.Step {
	return waits.WaitUntilGone(s, m, v1beta2.ReasonRestoring, "Member "+m.Name+" is stopping. Then the seed takes over.")
}
