package membership_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// at places the members in zones, one letter each.
func at(zones string) plantest.Change {
	return func(s *state.State) {
		for i := range s.Members {
			s.Members[i].Zone, s.Members[i].Node = zones[i:i+1], "node-of-"+s.Members[i].Name
		}
	}
}

func onNode(node string) func(*state.Member) { return func(m *state.Member) { m.Node = node } }

// TestPlanSpread: if the cluster scales down, the operator removes the member whose removal improves the spread most.
func TestPlanSpread(t *testing.T) {
	remove := func(i int) steps.Step {
		return steps.RemoveMember{ID: plantest.StateWith(plantest.Members(5)).Members[i].ID, Name: plantest.NameOf(i)}
	}
	plantest.Plans{
		"removes a member of the zone that has the most members": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), at("abbc")), remove(2),
		},
		"removes the newest member if several removals are equally good": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), at("aabbc"), plantest.Size(4)), remove(3),
		},
		"removes the newest member if the zones are unknown": {
			plantest.StateWith(plantest.Formed, plantest.Members(4)), remove(3),
		},
		"removes a member that shares a node": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), at("aaaa"), plantest.With(1, onNode("x")), plantest.With(2, onNode("x"))), remove(2),
		},
		"keeps the leader if another member in its zone can be removed": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), at("bbac"), plantest.Size(3)), remove(1),
		},
		"removes a member that does not serve, even if another zone has more members": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), at("abbbc"), plantest.With(4, plantest.Pod(state.PodRunning)), plantest.Size(4)), remove(4),
		},
	}.Run(t, plan.Plan)
}

func TestAReplacementPrefersTheZoneThatWouldBeEmpty(t *testing.T) {
	replace := plantest.Asks(state.Asked{Replace: []string{plantest.NameOf(1)}})
	for name, test := range map[string]struct {
		state state.State
		want  string
	}{
		"the leaving member is alone in its zone":                {plantest.StateWith(plantest.Formed, plantest.Members(3), at("abc"), replace), "b"},
		"another member remains in the zone":                     {plantest.StateWith(plantest.Formed, plantest.Members(3), at("abb"), replace), ""},
		"no member leaves":                                       {plantest.StateWith(plantest.Formed, plantest.Members(3), at("abc")), ""},
		"the zones are unknown":                                  {plantest.StateWith(plantest.Formed, plantest.Members(3), replace), ""},
		"a member whose volume is being deleted leaves its zone": {plantest.StateWith(plantest.Formed, plantest.Members(3), at("abc"), plantest.With(2, plantest.Volume(state.VolumeDeleting))), "c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := membership.PreferredZone(test.state, plantest.NameOf(3)); got != test.want {
				t.Errorf("zone %q, want %q", got, test.want)
			}
		})
	}
}
