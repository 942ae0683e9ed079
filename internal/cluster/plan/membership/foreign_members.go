package membership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A foreign member is in the membership, and the operator did not add it: somebody may be migrating data. It is no Member:
// it never gets a Pod or a volume, and no rule replaces it. Its vote counts, and because the operator cannot see whether it
// runs, it counts as a voter that is down.

// needsForeignVoters reports whether the operator's own members that serve are no quorum.
func needsForeignVoters(s state.State) bool {
	serving := 0
	for _, m := range s.Membership() {
		if m.Serving && !m.Learner {
			serving++
		}
	}
	return serving < etcd.Quorum(s.Voters().Total)
}

// RemoveForeignMember removes a foreign member by consent: learners first, and then voters that have never started, because no quorum needs
// them, and etcd adds no member while they are down.
func RemoveForeignMember(s state.State) steps.Step {
	if _, adding := s.Learner(); adding || !s.MembershipKnown {
		return nil
	}
	const cause = "the operator did not add it, and the spec or an annotation consents to its removal"
	for _, m := range s.ForeignMembers {
		if m.Learner && state.MayRemove(s, m) {
			return steps.RemoveMember{ID: m.ID, Name: m.Label(), Cause: cause, Foreign: true}
		}
	}
	if _, learning := state.ForeignLearner(s); learning {
		return nil // reportForeignMembers says so
	}
	for _, started := range []bool{false, true} {
		if step := removeForeignVoter(s, started, cause); step != nil {
			return step
		}
	}
	return nil
}

// removeForeignVoter removes one by consent, if a quorum stays without it.
func removeForeignVoter(s state.State, started bool, cause string) steps.Step {
	if !s.Voters().KeepsQuorumWithout(started && needsForeignVoters(s)) {
		return nil
	}
	for _, m := range s.ForeignMembers {
		if m.Started == started && state.MayRemove(s, m) {
			return steps.RemoveMember{ID: m.ID, Name: m.Label(), Cause: cause, Foreign: true}
		}
	}
	return nil
}

// ReportForeignMembers comes last: the operator keeps its own members well beside a foreign one.
func ReportForeignMembers(s state.State) steps.Step {
	if !s.MembershipKnown || len(s.ForeignMembers) == 0 {
		return nil
	}
	return waits.WaitForPersonAbout(s, s.ForeignMembers[0])
}

// ForeignStatus is what the status reports of them.
func ForeignStatus(s state.State) []v1beta2.ForeignMember {
	var reported []v1beta2.ForeignMember
	for _, m := range s.ForeignMembers {
		role := v1beta2.MemberVoter
		if m.Learner {
			role = v1beta2.MemberLearner
		}
		reported = append(reported, v1beta2.ForeignMember{ID: m.ID.String(), Name: m.Name, Role: role, PeerURLs: m.PeerURLs, Since: metav1.NewTime(m.Since)})
	}
	return reported
}
