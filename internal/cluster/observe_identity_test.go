package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func TestAnswersOfAnotherClusterAreNotBelieved(t *testing.T) {
	other := []etcd.Member{{ID: 77, Name: "other-0", ClientURLs: []string{"http://other"}}}
	s := heard(t, func(i int, m *speaking) {
		switch i {
		case 0: // a member of another cluster has the address now, with a quorum of its own
			m.status.ClusterID, m.status.MemberID, m.membership = 0xee, 77, other
		case 1: // one without a quorum
			m.status.ClusterID, m.refuses = 0xee, etcd.ErrNotYet
		}
	})
	for i, m := range s.Members[:2] {
		if m.Answers || m.Serving || !strings.Contains(m.Unanswered, "00000000000000ee") {
			t.Errorf("member %d is %+v", i, m)
		}
	}
	if !s.Members[2].Serving || s.Voters().Total != 3 || s.ClusterID != oldID {
		t.Errorf("cluster %s has voters %+v", s.ClusterID, s.Voters())
	}
}

func TestABirthDoesNotTakeTheIDOfAnotherCluster(t *testing.T) {
	s := heardOf(t, state(), func(i int, m *speaking) {
		if i == 0 {
			m.status.ClusterID, m.status.MemberID = 0xee, 77
			m.membership = []etcd.Member{{ID: 77, Name: "other-0"}}
		}
	})
	if s.Members[0].Serving || !s.Members[1].Serving {
		t.Errorf("the members are %+v", s.Members)
	}
}

func TestAFalsifiedClusterIDIsCorrectedByTheMembers(t *testing.T) {
	s := heardOf(t, state(formed, func(s *plan.State) { s.ClusterID = "deadbeef" }), func(int, *speaking) {})
	if s.ClusterID != oldID || !s.ClusterIDProven || len(s.Corrected) != 1 {
		t.Errorf("cluster ID %s; %q", s.ClusterID, s.Corrected)
	}
	if diff := cmp.Diff(plan.Step(plan.Done{}), plan.Plan(s)); diff != "" {
		t.Errorf("Plan (-want +got):\n%s", diff)
	}
}
