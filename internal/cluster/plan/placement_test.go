package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// at places the members in zones, one letter each.
func at(zones string) change {
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
		return steps.RemoveMember{ID: stateWith(members(5)).Members[i].ID, Name: nameOf(i)}
	}
	planTests{
		"removes a member of the zone that has the most members": {
			stateWith(formed, members(4), at("abbc")), remove(2),
		},
		"removes the newest member if several removals are equally good": {
			stateWith(formed, members(5), at("aabbc"), size(4)), remove(3),
		},
		"removes the newest member if the zones are unknown": {
			stateWith(formed, members(4)), remove(3),
		},
		"removes a member that shares a node": {
			stateWith(formed, members(4), at("aaaa"), with(1, onNode("x")), with(2, onNode("x"))), remove(2),
		},
		"keeps the leader if another member in its zone can be removed": {
			stateWith(formed, members(4), at("bbac"), size(3)), remove(1),
		},
		"removes a member that does not serve, even if another zone has more members": {
			stateWith(formed, members(5), at("abbbc"), with(4, pod(state.PodRunning)), size(4)), remove(4),
		},
	}.run(t)
}

func TestAReplacementPrefersTheZoneThatWouldBeEmpty(t *testing.T) {
	replace := asks(state.Asked{Replace: []string{nameOf(1)}})
	for name, test := range map[string]struct {
		state state.State
		want  string
	}{
		"the leaving member is alone in its zone":                {stateWith(formed, members(3), at("abc"), replace), "b"},
		"another member remains in the zone":                     {stateWith(formed, members(3), at("abb"), replace), ""},
		"no member leaves":                                       {stateWith(formed, members(3), at("abc")), ""},
		"the zones are unknown":                                  {stateWith(formed, members(3), replace), ""},
		"a member whose volume is being deleted leaves its zone": {stateWith(formed, members(3), at("abc"), with(2, volume(state.VolumeDeleting))), "c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := membership.PreferredZone(test.state, nameOf(3)); got != test.want {
				t.Errorf("zone %q, want %q", got, test.want)
			}
		})
	}
}
