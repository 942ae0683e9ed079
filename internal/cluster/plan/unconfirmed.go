package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A restore replaces the old members only if they can acknowledge no more writes. A member has stopped for certain if it
// has no Pod, or if its node reports that the Pod has ended. Members on a node that does not answer may run on. If they
// are too few for a quorum of the old voters, they acknowledge no write, and the client Service does not select them.

// unconfirmed returns whether a member's Pod may run on, and nobody can see or stop it.
func (s State) unconfirmed(m Member) bool {
	return m.Pod != PodNone && m.Pod != PodEnded && !m.Stopped && (m.NodeSilent || s.overdue(m))
}

// mayVote returns whether a member may be a voter of the cluster that a restore replaces.
func (s State) mayVote(m Member) bool {
	return m.Incarnation == max(s.Incarnation, FirstIncarnation) && !m.neverRan() && (!s.MembershipKnown || (m.InMembership && !m.Learner))
}

// neverRan returns whether no etcd has run in a Pod, because it waits until its member is added.
func (m Member) neverRan() bool { return m.Waits && !m.Ran }

// oldVoters returns how many voters that cluster has, and 0 if that is not known.
func (s State) oldVoters() int {
	if s.MembershipKnown {
		return s.Voters().Total
	}
	return s.knownVoters()
}

// haveQuorum returns whether these members of the old cluster could acknowledge writes among themselves. A member that the record of
// the voters does not have may be a learner, or somebody may have promoted it: it counts among the members and among the voters. So does
// a foreign learner.
func (s State) haveQuorum(members []Member) bool {
	voters := 0 // not known
	alone := slices.ContainsFunc(members, s.mayBeAlone)
	running := len(members) + len(s.ForeignMembers)
	if s.oldVoters() > 0 {
		voters = s.votersBeside(s.ForeignMembers)
		for _, m := range members {
			if s.unrecorded(m) {
				voters++
			}
		}
	}
	return running > 0 && (voters == 0 || alone || running >= etcd.Quorum(voters))
}

// unrecorded returns whether no quorum answers, and a member is not in the record of the voters.
func (s State) unrecorded(m Member) bool {
	return !s.MembershipKnown && len(s.KnownVoters) > 0 && !slices.Contains(s.KnownVoters, m.Name)
}

// mayBeAlone returns whether a member may be a quorum of its own: it is the survivor of a lost quorum. The recorded voters are
// those from before, until a quorum answers that it is alone. Its Pod may have no flag any more, because a restore took that off.
func (s State) mayBeAlone(m Member) bool {
	return m.Start == StartForce || (s.forcing() && m.Name == s.Recovery.Member)
}

// unstoppable waits for a person if the operator could not stop the old cluster: the members that nobody can stop are a
// quorum of it.
func unstoppable(s State) Step {
	unconfirmed := s.where(func(m Member) bool { return s.mayVote(m) && s.unconfirmed(m) })
	trusting := s.trusting()
	switch {
	case !trusting.haveQuorum(unconfirmed):
		return nil
	case trusting.haveQuorum(nil):
		return Wait{
			Reason: v1beta2.ReasonForeignMember, Stalled: true,
			Message: fmt.Sprintf("The seed of EtcdRestore %s serves. %s, so the restore does not continue. %s To cancel, delete the EtcdRestore.", s.Restore.Name, trusting.mayWrite(s.oldVoters()), s.howToStop()),
		}
	}
	of := ""
	if voters := s.oldVoters(); voters > 0 {
		of = fmt.Sprintf(" of %d", voters)
	}
	return Wait{
		Reason: v1beta2.ReasonPodFailing,
		Message: fmt.Sprintf("The seed of EtcdRestore %s serves, but the nodes of %d%s old members do not answer: %s. The members may still accept writes, so the restore does not continue. The old members that answer continue to serve. %s To cancel, delete the EtcdRestore.",
			s.Restore.Name, len(unconfirmed), of, strings.Join(memberNames(unconfirmed), ", "), howToEnd(unconfirmed...)),
		Stalled: true,
	}
}

// oldMemberStops waits until the old members that may run are too few for a quorum. All have been asked to stop. A member that
// has requests in flight, and lost its quorum, takes two seconds for that, and clients would wait for it.
func oldMemberStops(s State) Step {
	var running []Member
	for _, m := range s.Members {
		switch {
		case m.Incarnation == s.Restore.Incarnation || m.Pod != PodDeleting || m.Stopped || m.neverRan():
		case s.mayVote(m):
			running = append(running, m)
		case !s.unconfirmed(m):
			return s.waitForOld(m)
		}
	}
	if len(running) == 0 || !s.trusting().haveQuorum(running) {
		return nil
	}
	for _, m := range running {
		if !s.unconfirmed(m) {
			return s.waitForOld(m)
		}
	}
	return s.waitUntilGone(running[0], v1beta2.ReasonRestoring, "The node of member "+running[0].Name+" has not confirmed that it stopped. Then the seed takes over.")
}

// foreignQuorum stops a switch if voters that the operator did not add may be a quorum without its own members. It cannot stop them, and
// sees none of them any more.
func foreignQuorum(s State) Step {
	seed, _ := s.seed()
	trusting := s.trusting()
	if !trusting.haveQuorum(nil) {
		return nil
	}
	back := fmt.Sprintf("delete EtcdRestore %s, then Pod %s", s.Restore.Name, seed.Name)
	if s.Cancelled() {
		back = "delete Pod " + seed.Name
	}
	if !s.inPod(seed) {
		back += ", and the PersistentVolumeClaim of that name"
	}
	return Wait{
		Reason: v1beta2.ReasonForeignMember, Stalled: true,
		Message: fmt.Sprintf("%s, so seed %s does not take over. The old members have stopped, so clients wait. %s To return to the old members, %s.", trusting.mayWrite(s.oldVoters()), seed.Name, s.howToStop(), back),
	}
}

// trusting returns the State without the foreign members that have stopped, as a person says in an annotation. The consent to remove
// them is no such statement: they may run. A quorum that serves contradicts the statement, or does not need it.
func (s State) trusting() State {
	if unknown, _ := s.QuorumUnknown(); !unknown && !s.MembershipKnown && !s.Guarded() {
		s.ForeignMembers = s.maybeServing()
	}
	return s
}

// mayWrite says that foreign members may still serve, as the beginning of a sentence.
func (s State) mayWrite(voters int) string {
	of := "voters"
	if s.foreignLearners() > 0 {
		of = "members that vote or may vote"
	}
	return fmt.Sprintf("The operator did not add %d of %d old %s, so it cannot stop them. They may still accept writes", len(s.ForeignMembers), voters+s.foreignLearners(), of)
}

// howToStop says what a person does about foreign members.
func (s State) howToStop() string {
	switch {
	case s.MembershipKnown:
		return "Remove them with etcdctl member remove, those that have stopped first."
	case s.Guarded():
		refusal := s.refusal(s.Incarnation)
		return "A quorum serves, and the operator cannot see whether they were removed. " + s.whyRefused(refusal) + " " + s.howToPermit(refusal)
	}
	return s.sayStopped()
}

// InTheWay says which old member is in the way of a step that lets the seed replace the old members, or that returns to the time before
// they stopped; empty if none is. The State has the Pods as a read past the cache shows them.
func (s State) InTheWay(step Step) string {
	old := s.where(func(m Member) bool {
		return m.Incarnation != s.Restore.Incarnation && m.Pod != PodNone && m.Pod != PodEnded
	})
	beside := func(m Member) string { return "the old member " + m.Name + " may run beside the seed" }
	switch step.(type) {
	case ReturnToSeeding:
		if !s.oldQuorumRuns() {
			return "the old members stop"
		}
	case BeginSwitch:
		if len(old) > 0 && s.cannotHandOver() != nil {
			return beside(old[0])
		}
	case AdoptSeed:
		if s.WritesFenced() {
			return ""
		}
		if voters := s.oldRunning(); s.oldRun() {
			return beside(voters[0])
		}
		if len(old) > 0 && oldMemberStops(s) != nil {
			return beside(old[0])
		}
		if foreignQuorum(s) != nil {
			return "voters that the operator did not add may run beside the seed"
		}
	}
	return ""
}

func (s State) waitForOld(m Member) Step {
	return s.waitUntilGone(m, v1beta2.ReasonRestoring, "Member "+m.Name+" is stopping. Then the seed takes over.")
}

func memberNames(members []Member) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return names
}
