package plan

import "testing"

// at places the members in zones, one letter each.
func at(zones string) change {
	return func(s *State) {
		for i := range s.Members {
			s.Members[i].Zone, s.Members[i].Node = zones[i:i+1], "node-of-"+s.Members[i].Name
		}
	}
}

func onNode(node string) func(*Member) { return func(m *Member) { m.Node = node } }

// TestPlanSpread: the member whose removal improves the spread is the one that a smaller cluster does without.
func TestPlanSpread(t *testing.T) {
	remove := func(i int) Step {
		return RemoveMember{ID: state(members(5)).Members[i].ID, Name: nameOf(i)}
	}
	planTests{
		"removes a member of the zone that has the most": {
			state(formed, members(4), at("abbc")), remove(2),
		},
		"removes the newest of equals": {
			state(formed, members(5), at("aabbc"), size(4)), remove(3),
		},
		"removes the newest if the zones are not known": {
			state(formed, members(4)), remove(3),
		},
		"removes one that shares a node": {
			state(formed, members(4), at("aaaa"), with(1, onNode("x")), with(2, onNode("x"))), remove(2),
		},
		"keeps the leader if another one in its zone can go": {
			state(formed, members(4), at("bbac"), size(3)), remove(1),
		},
		"removes one that does not serve first": {
			state(formed, members(5), at("abbbc"), with(4, pod(PodRunning)), size(4)), remove(4),
		},
	}.run(t)
}

func TestAReplacementPrefersTheZoneThatWouldBeEmpty(t *testing.T) {
	replace := asks(Asked{Replace: []string{nameOf(1)}})
	for name, test := range map[string]struct {
		state State
		want  string
	}{
		"the one that leaves is alone in its zone": {state(formed, members(3), at("abc"), replace), "b"},
		"another one stays in the zone":            {state(formed, members(3), at("abb"), replace), ""},
		"nobody leaves":                            {state(formed, members(3), at("abc")), ""},
		"the zones are not known":                  {state(formed, members(3), replace), ""},
		"a volume that is deleted leaves its zone": {state(formed, members(3), at("abc"), with(2, volume(VolumeDeleting))), "c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.state.PreferredZone(nameOf(3)); got != test.want {
				t.Errorf("zone %q, want %q", got, test.want)
			}
		})
	}
}
