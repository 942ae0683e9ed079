package members

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func TestAnswersOfAnotherClusterAreNotBelieved(t *testing.T) {
	other := []etcd.Member{{ID: 77, Name: "other-0", ClientURLs: []string{"http://other"}}}
	s := heard(t, func(i int, m *clustertest.FakeMember) {
		switch i {
		case 0: // a member of another cluster has the address now, with a quorum of its own
			m.Answer.ClusterID, m.Answer.MemberID, m.Membership = 0xee, 77, other
		case 1: // one without a quorum
			m.Answer.ClusterID, m.Refuses = 0xee, etcd.ErrNotYet
		}
	})
	for i, m := range s.Members[:2] {
		if m.Answers || m.Serving || !strings.Contains(m.Unanswered, "00000000000000ee") {
			t.Errorf("member %d is %+v", i, m)
		}
	}
	if !s.Members[2].Serving || s.Voters().Total != 3 || s.ClusterID != plantest.OldID {
		t.Errorf("cluster %s has voters %+v", s.ClusterID, s.Voters())
	}
}

func TestABirthDoesNotTakeTheIDOfAnotherCluster(t *testing.T) {
	s := heardOf(t, clustertest.State(), func(i int, m *clustertest.FakeMember) {
		if i == 0 {
			m.Answer.ClusterID, m.Answer.MemberID = 0xee, 77
			m.Membership = []etcd.Member{{ID: 77, Name: "other-0"}}
		}
	})
	if s.Members[0].Serving || !s.Members[1].Serving {
		t.Errorf("the members are %+v", s.Members)
	}
}

func TestAFalsifiedClusterIDIsCorrectedByTheMembers(t *testing.T) {
	s := heardOf(t, clustertest.State(plantest.Formed, func(s *state.State) { s.ClusterID = "deadbeef" }), func(int, *clustertest.FakeMember) {})
	if s.ClusterID != plantest.OldID || !s.ClusterIDProven || len(s.Corrected) != 1 {
		t.Errorf("cluster ID %s; %q", s.ClusterID, s.Corrected)
	}
	if diff := cmp.Diff(steps.Step(steps.Done{}), plan.Plan(s)); diff != "" {
		t.Errorf("Plan (-want +got):\n%s", diff)
	}
}

// A node with two members rebooted, and the members exchanged their addresses. For some seconds, Kubernetes showed the old
// addresses. Without a quorum, the member with older data counted as the most advanced one.
func TestAMemberWithoutAQuorumThatAnswersAtTheAddressOfAnotherDoesNotCount(t *testing.T) {
	before := clustertest.State(plantest.Formed, plantest.Members(3))
	ids := map[string]etcd.ID{}
	for _, m := range before.Members {
		ids[m.Name] = m.ID
	}
	for name, c := range map[string]struct {
		known   map[string]etcd.ID
		id      etcd.ID
		onlyBy  bool // it serves only its metrics, which are of member 2
		counted bool
	}{
		"the member itself":                             {ids, before.Members[0].ID, false, true},
		"the second member at the address of the first": {ids, before.Members[1].ID, false, false},
		"a member that got another ID since":            {ids, 99, false, true},
		"the member IDs are not known":                  {nil, before.Members[1].ID, false, true},
		"metrics of another member":                     {ids, 0, true, false},
		"metrics of another cluster":                    {map[string]etcd.ID{plantest.NameOf(0): 99}, 0, true, false},
		"metrics of the member itself":                  {map[string]etcd.ID{plantest.NameOf(0): 2}, 0, true, true},
		"metrics if the member IDs are not known":       {nil, 0, true, true},
	} {
		s := heardOf(t, clustertest.State(plantest.Formed, func(s *state.State) { s.KnownIDs = c.known }), func(i int, m *clustertest.FakeMember) {
			m.Refuses, m.Answer.RaftIndex = etcd.ErrNotYet, 7
			if i == 0 {
				m.Answer.MemberID = c.id
			}
			if i == 0 && c.onlyBy {
				m.Guards = etcd.ErrNotYet
			}
		})
		if counted := s.Members[0].RaftIndex == 7; counted != c.counted {
			t.Errorf("%s: counted: %t, member: %+v", name, counted, s.Members[0])
		}
	}
}
