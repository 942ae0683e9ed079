package recovery_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A node booted again and had wiped its disk. The kubelet restarted the containers of its Pods in place, and etcd joined the cluster again
// under its old identity, without the writes that it had acknowledged.
func TestAMemberThatHasStartedMayNotStartEmpty(t *testing.T) {
	empty := func(m *state.Member) { m.MayStartEmpty = true }
	forbid := steps.ForbidEmptyStart{Name: plantest.NameOf(1)}
	plantest.Plans{
		"a member that formed the cluster":       {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, empty, func(m *state.Member) { m.Start = state.StartNew })), forbid},
		"a member that has joined":               {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, empty, func(m *state.Member) { m.Start = state.StartJoin })), forbid},
		"a seed that is a member of the cluster": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, empty, func(m *state.Member) { m.Start = state.StartSeed })), forbid},
		"also while another one does not serve":  {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, empty), plantest.With(2, plantest.Silent)), forbid},
		"also if it does not run":                {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, empty, plantest.BlockedBy("PodFailing"))), forbid},
		"a Pod of an earlier release runs on":    {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, func(m *state.Member) { m.Start = state.StartJoin })), steps.Done{}},
	}.Run(t, plan.Plan)
	learner := func(m *state.Member) {
		empty(m)
		m.Learner, m.Started, m.Serving, m.Answers = true, false, false, false
	}
	if step := recovery.ForbidEmptyStart(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, learner))); step != nil {
		t.Errorf("a learner that has not started has no data yet: %+v", step)
	}
}

// The operator recognises its members by 64 names. With all of them taken it gave a member another name, and took it for a foreign one.
func TestNoMemberGetsANameThatTheOperatorDoesNotRecognise(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(2))
	for ordinal := 2; ordinal < state.MaxOrdinal; ordinal++ {
		s.SetAside = append(s.SetAside, state.SetAside{Name: plantest.NameOf(ordinal), Since: s.Now})
	}
	if wait, is := plan.Plan(s).(steps.Wait); !is || !wait.Stalled {
		t.Errorf("%T %+v", plan.Plan(s), plan.Plan(s))
	}
	s.SetAside = s.SetAside[:len(s.SetAside)-1]
	if add, is := plan.Plan(s).(steps.AddLearner); !is || add.Name != plantest.NameOf(state.MaxOrdinal-1) {
		t.Errorf("%T %+v", plan.Plan(s), plan.Plan(s))
	}
}
