package repair_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestPlanReplacesLostMembersOfFewClustersAtATime(t *testing.T) {
	held := func(s *state.State) {
		s.Replacements = state.Replacements{Held: true, Running: 10, Limit: 10, PerMinute: 20}
	}
	wait := func(cause string) steps.Wait {
		return steps.Wait{Reason: v1beta2.ReasonReplacementDelayed, Message: "Member " + plantest.NameOf(1) + " must be replaced, because " + cause + ". The operator replaces lost members in 10 other clusters (limits: 10 at the same time, 20 begun in a minute), so this one waits. A quorum serves. If nodes are down, repair them."}
	}
	corrupt := func(m *state.Member) { m.Corrupt = true }
	plantest.Plans{
		"does not replace a member on a lost node yet": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodDeleting), plantest.UnreadyFor(time.Hour)), held), wait(plantest.IsDead)},
		"does not replace a member without data yet":   {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod, plantest.Volume(state.VolumeLost)), held), wait(state.LostData)},
		"replaces a member with corrupt data at once":  {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, corrupt), held), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.CorruptData}},
		"recreates a missing Pod at once":              {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod), held), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
	}.Run(t, plan.Plan)
}

func TestAClusterThatIsWholeAgainReplacesNoLostMember(t *testing.T) {
	old := func(s *state.State) {
		s.Asked.Fence = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
	} // the operator refuses this, and reports it
	whole := plantest.StateWith(plantest.Formed, plantest.Members(3), old)
	if _, done := plan.Plan(whole).(steps.Done); done || !repair.Whole(whole) {
		t.Errorf("done: %t, whole: %t, expected that it is whole although something is reported", done, repair.Whole(whole))
	}
	for name, s := range map[string]state.State{
		"one of three members removed": plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.Removed)),
		"a learner":                    plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.Learner)),
		"a silent member":              plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, func(m *state.Member) { m.Serving = false })),
		"no quorum":                    plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum),
	} {
		if repair.Whole(s) {
			t.Errorf("%s: the cluster is taken to be whole", name)
		}
	}
}
