package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A node booted again and had wiped its disk. The kubelet restarted the containers of its Pods in place, and etcd joined the cluster again
// under its old identity, without the writes that it had acknowledged.
func TestAMemberThatHasStartedMayNotStartEmpty(t *testing.T) {
	empty := func(m *state.Member) { m.MayStartEmpty = true }
	forbid := steps.ForbidEmptyStart{Name: nameOf(1)}
	planTests{
		"a member that formed the cluster":       {stateWith(formed, members(3), with(1, empty, func(m *state.Member) { m.Start = state.StartNew })), forbid},
		"a member that has joined":               {stateWith(formed, members(3), with(1, empty, func(m *state.Member) { m.Start = state.StartJoin })), forbid},
		"a seed that is a member of the cluster": {stateWith(formed, members(3), with(1, empty, func(m *state.Member) { m.Start = state.StartSeed })), forbid},
		"also while another one does not serve":  {stateWith(formed, members(3), with(1, empty), with(2, silent)), forbid},
		"also if it does not run":                {stateWith(formed, members(3), with(1, empty, blockedBy("PodFailing"))), forbid},
		"a Pod of an earlier release runs on":    {stateWith(formed, members(3), with(1, func(m *state.Member) { m.Start = state.StartJoin })), steps.Done{}},
	}.run(t)
	learner := func(m *state.Member) {
		empty(m)
		m.Learner, m.Started, m.Serving, m.Answers = true, false, false, false
	}
	if step := recovery.ForbidEmptyStart(stateWith(formed, members(3), with(1, learner))); step != nil {
		t.Errorf("a learner that has not started has no data yet: %+v", step)
	}
}

// The operator recognises its members by 64 names. With all of them taken it gave a member another name, and took it for a foreign one.
func TestNoMemberGetsANameThatTheOperatorDoesNotRecognise(t *testing.T) {
	s := stateWith(formed, members(2))
	for ordinal := 2; ordinal < state.MaxOrdinal; ordinal++ {
		s.SetAside = append(s.SetAside, state.SetAside{Name: nameOf(ordinal), Since: s.Now})
	}
	if wait, is := Plan(s).(steps.Wait); !is || !wait.Stalled {
		t.Errorf("%T %+v", Plan(s), Plan(s))
	}
	s.SetAside = s.SetAside[:len(s.SetAside)-1]
	if add, is := Plan(s).(steps.AddLearner); !is || add.Name != nameOf(state.MaxOrdinal-1) {
		t.Errorf("%T %+v", Plan(s), Plan(s))
	}
}
