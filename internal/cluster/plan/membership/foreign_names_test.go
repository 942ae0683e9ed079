package membership_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// entries are the entries of the first n members in etcd's membership.
func entries(n int) []etcd.Member {
	var all []etcd.Member
	for i := range n {
		all = append(all, etcd.Member{ID: etcd.ID(i + 1), Name: plantest.NameOf(i), PeerURLs: []string{plantest.PeerURLOf(i)}, ClientURLs: []string{"x"}})
	}
	return all
}

// Without the vote of the foreign member, the operator would stop a member that the quorum needs.
func TestAForeignVoterWithTheNameOfAMemberIsCounted(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated)
	state.Enroll(&s, append(entries(3), etcd.Member{ID: plantest.GuestID, Name: plantest.NameOf(0), PeerURLs: []string{"http://10.0.0.5:2380"}, ClientURLs: []string{"x"}}))
	if got := s.Voters().Total; got != 4 {
		t.Errorf("etcd has 4 voters, the plan counts %d", got)
	}
	if s.Members[0].ID != 1 {
		t.Errorf("member %s has the ID %s of the foreign member", plantest.NameOf(0), s.Members[0].ID)
	}
	if step, deletes := plan.Plan(s).(steps.DeletePod); deletes {
		t.Errorf("the roll stops %s, although 3 of 4 voters must stay", step.Name)
	}
}

// A person may start a member with a copied command line. The operator must not promote that member instead of its own.
func TestAForeignLearnerWithTheNameOfAMemberGetsNoVote(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), promoting(0))
	state.Enroll(&s, append(entries(3), etcd.Member{ID: plantest.GuestID, Name: plantest.NameOf(0), PeerURLs: []string{"http://10.0.0.5:2380"}, ClientURLs: []string{"x"}, Learner: true}))
	if step, promotes := plan.Plan(s).(steps.PromoteLearner); promotes && step.ID == plantest.GuestID {
		t.Errorf("the operator gives a foreign learner its vote: %+v", step)
	}
}

// A person may change the peer URL of a member with etcdctl. If the operator took the member for a foreign one, it would
// stop its Pod.
func TestAMemberWhosePeerURLAPersonChangedIsNotForeign(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3))
	membership := entries(3)
	membership[1].PeerURLs = []string{"http://10.0.0.5:2380"}
	state.Enroll(&s, membership)
	if len(s.ForeignMembers) > 0 || s.Voters().Total != 3 {
		t.Errorf("foreign members are %+v, and %d members vote", s.ForeignMembers, s.Voters().Total)
	}
}
