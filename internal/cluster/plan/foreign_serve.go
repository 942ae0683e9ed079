package plan

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// While no quorum answers the operator, foreign members may be one and serve clients that the operator cannot see. What it does with the
// cluster then could lose their writes, so a person must say that they have stopped.

// maybeServing returns the foreign members that may run: no annotation says that they have stopped.
func (s State) maybeServing() []ForeignMember {
	return slices.DeleteFunc(slices.Clone(s.ForeignMembers), s.saidStopped)
}

// saidStopped reports whether an annotation says that a foreign member has stopped. It must name its ID: several members can have the
// same name, also one that somebody adds later.
func (s State) saidStopped(m ForeignMember) bool {
	return slices.ContainsFunc(s.Asked.StoppedForeign, func(said string) bool {
		id, err := etcd.ParseID(said)
		return err == nil && id == m.ID
	})
}

// withAllStopped returns the State as it is after the statement that all foreign members have stopped.
func (s State) withAllStopped() State {
	s.Asked.StoppedForeign = nil
	for _, m := range s.ForeignMembers {
		s.Asked.StoppedForeign = append(s.Asked.StoppedForeign, m.ID.String())
	}
	return s
}

// foreignLearners counts foreign members without a vote. Somebody may have promoted them since a quorum last answered.
func (s State) foreignLearners() int { return len(s.ForeignMembers) - s.foreignVoters() }

// votersBeside returns the smallest number of voters if all these foreign members vote. One of the recorded voters may have no vote, and
// each learner may have one by now.
func (s State) votersBeside(foreign []ForeignMember) int {
	voters := s.fewestVoters()
	doubted, doubts := s.doubtedVoter()
	for _, m := range foreign {
		if m.Learner || !s.MembershipKnown && doubts && m.ID.String() == doubted {
			voters++
		}
	}
	return voters
}

// mayBeQuorum returns whether these foreign members and a number of the operator's own members may be a quorum.
func (s State) mayBeQuorum(foreign []ForeignMember, own int) bool {
	return len(foreign) > 0 && len(foreign)+own >= etcd.Quorum(max(s.votersBeside(foreign), 0))
}

// unseenVoters are the foreign members that may vote and hold data, and that the user did not consent to go on without. A grace period
// is no such consent: while no quorum answers the operator, foreign voters that it cannot reach may serve clients. If they may be a
// quorum by themselves, the consent to remove them is none either. Only the statement is that they have stopped. A learner counts if it
// would complete a quorum of the members with data.
func (s State) unseenVoters() []ForeignMember {
	serving := s.maybeServing()
	if s.mayBeQuorum(serving, 0) {
		return serving
	}
	completes := s.mayBeQuorum(serving, len(s.holders()))
	return slices.DeleteFunc(serving, func(m ForeignMember) bool { return m.Learner && !completes || s.removalAsked(m) })
}

// unlessForeignQuorum returns lost, which reports a lost quorum. If the foreign members may be a quorum by themselves, it returns
// what the operator knows instead: they may serve clients, and have data that no snapshot has.
func (s State) unlessForeignQuorum(lost string) string {
	serving := s.maybeServing()
	if s.knownVoters() == 0 || !s.mayBeQuorum(serving, 0) {
		return lost
	}
	return "No quorum answers the operator. Members that it did not add may be a quorum by themselves, and serve clients: " + labels(serving) +
		". To keep their data, save it with an EtcdBackup by etcdEndpoints, and apply an EtcdRestore of that snapshot. If they are lost: " + s.sayStopped()
}

// labels is how people find foreign members with etcdctl.
func labels(foreign []ForeignMember) string {
	words := make([]string, len(foreign))
	for i, m := range foreign {
		words[i] = m.label()
	}
	return strings.Join(words, ", ")
}

// sayStopped says how a person states that the foreign members have stopped. It names all, because the annotation replaces an earlier one.
func (s State) sayStopped() string {
	ids := make([]string, len(s.ForeignMembers))
	for i, m := range s.ForeignMembers {
		ids[i] = m.ID.String()
	}
	return "Stop them for good. Then annotate the EtcdCluster with " + v1beta2.AnnotationStoppedForeign + "=" + strings.Join(ids, ",") + "."
}
