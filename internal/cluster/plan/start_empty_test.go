package plan

import "testing"

// A node booted again and had wiped its disk. The kubelet restarted the containers of its Pods in place, and etcd joined the cluster again
// under its old identity, without the writes that it had acknowledged.
func TestAMemberThatHasStartedMayNotStartEmpty(t *testing.T) {
	empty := func(m *Member) { m.MayStartEmpty = true }
	forbid := ForbidEmptyStart{Name: nameOf(1)}
	planTests{
		"a member that formed the cluster":       {state(formed, members(3), with(1, empty, func(m *Member) { m.Start = StartNew })), forbid},
		"a member that has joined":               {state(formed, members(3), with(1, empty, func(m *Member) { m.Start = StartJoin })), forbid},
		"a seed that is a member of the cluster": {state(formed, members(3), with(1, empty, func(m *Member) { m.Start = StartSeed })), forbid},
		"also while another one does not serve":  {state(formed, members(3), with(1, empty), with(2, silent)), forbid},
		"also if it does not run":                {state(formed, members(3), with(1, empty, blockedBy("PodFailing"))), forbid},
		"a Pod of an earlier release runs on":    {state(formed, members(3), with(1, func(m *Member) { m.Start = StartJoin })), Done{}},
	}.run(t)
	learner := func(m *Member) { empty(m); m.Learner, m.Started, m.Serving, m.Answers = true, false, false, false }
	if step := forbidEmptyStart(state(formed, members(3), with(1, learner))); step != nil {
		t.Errorf("a learner that has not started has no data yet: %+v", step)
	}
}

// The operator recognises its members by 64 names. With all of them taken it gave a member another name, and took it for a foreign one.
func TestNoMemberGetsANameThatTheOperatorDoesNotRecognise(t *testing.T) {
	s := state(formed, members(2))
	for ordinal := 2; ordinal < maxOrdinal; ordinal++ {
		s.SetAside = append(s.SetAside, SetAside{Name: nameOf(ordinal), Since: s.Now})
	}
	if wait, is := Plan(s).(Wait); !is || !wait.Stalled {
		t.Errorf("%T %+v", Plan(s), Plan(s))
	}
	s.SetAside = s.SetAside[:len(s.SetAside)-1]
	if add, is := Plan(s).(AddLearner); !is || add.Name != nameOf(maxOrdinal-1) {
		t.Errorf("%T %+v", Plan(s), Plan(s))
	}
}
