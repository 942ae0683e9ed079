package pods

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// etcd takes one entry for each peer URL of a member. The operator read several entries as an earlier membership. So it deleted the Pod
// of a learner again and again after the Pod had ended once.
func TestAForeignMemberWithTwoPeerURLsIsNamedOnce(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) {
		s.ForeignMembers = []state.ForeignMember{{ID: 0xf00, PeerURLs: []string{"http://10.0.0.5:2380", "http://10.1.0.5:2380"}}}
	})
	pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(3), Incarnation: 1, Start: state.StartJoin}, "")
	var m state.Member
	ObservePod(&m, pod, plantest.Noon)
	if want := strings.Join(state.JoinPeers(s, plantest.NameOf(3)), ","); m.Peers != want {
		t.Errorf("the Pod joins %s, want %s", m.Peers, want)
	}
}
