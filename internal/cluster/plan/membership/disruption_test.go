package membership_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestPlanDisruption(t *testing.T) {
	plantest.Plans{
		"lets a drain take one of three": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Budgeted(state.Budget{Exists: true})), steps.ApplyBudget{Incarnation: 1, MinAvailable: 2},
		},
		"lets a drain take two of five": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.Budgeted(plantest.BudgetOf(4))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 3},
		},
		"lets a drain take the only member, because its volume keeps the data": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.Budgeted(plantest.BudgetOf(1))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 0},
		},
		"lets a drain take one of two": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Size(2), plantest.Budgeted(plantest.BudgetOf(2))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 1},
		},
		"blocks a drain that would delete the only copy of the data": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.Ephemeral, plantest.Budgeted(plantest.BudgetOf(0))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 1},
		},
		"blocks drains while one of three members is missing": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Budgeted(plantest.BudgetOf(1))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 2},
		},
		"counts a learner as a voter before it gets its vote": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.With(3, plantest.Learner), plantest.Budgeted(plantest.BudgetOf(2))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 3},
		},
		"does not count a learner that does not start": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.With(3, plantest.JustAdded, plantest.Pod(state.PodStarting), plantest.Volume(state.VolumePresent)), plantest.Budgeted(plantest.BudgetOf(3))),
			steps.ApplyBudget{Incarnation: 1, MinAvailable: 2},
		},
		"does not count the Pod of a removed member as a voter": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(3, plantest.Removed), plantest.Budgeted(plantest.BudgetOf(2))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 3},
		},
		"corrects a budget that another client changed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Budgeted(state.Budget{Exists: true, Incarnation: 1, MinAvailable: 2})), steps.ApplyBudget{Incarnation: 1, MinAvailable: 2},
		},
		"deletes its budget beside a user's, because two budgets for one Pod block every drain": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Budgeted(state.Budget{Exists: true, Current: true, Other: "mine"})), steps.WithdrawBudget{Other: "mine"},
		},
		"creates no budget beside the user's": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Budgeted(state.Budget{Other: "mine"})), steps.Done{},
		},
	}.Run(t, plan.Plan)
}

// A PodDisruptionBudget that counts a learner as a voter lets a drain take the quorum.
func TestADrainLeavesAQuorumBesideALearnerThatTheServiceSelects(t *testing.T) {
	// The Pod of a learner was created while no quorum answered, so it has the label of a voter. It does not answer the operator.
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.With(3, plantest.Learner, func(m *state.Member) { m.InService, m.PodReady, m.Answers = true, true, false }))
	selected := 0
	for _, m := range s.Members {
		if m.InService && m.PodReady {
			selected++
		}
	}
	if may := selected - state.MinAvailable(s); may > 1 {
		t.Errorf("the budget selects %d Pods that are ready and lets a drain take %d of 3 voters", selected, may)
	}
	for range 5 {
		if _, is := plan.Plan(s).(steps.RemoveFromService); is {
			return
		}
	}
	t.Errorf("no rule takes a learner out of the client Service: %T", plan.Plan(s))
}

// While the API server refuses a higher PodDisruptionBudget, a drain would be allowed to take the quorum of a larger cluster.
func TestALearnerGetsNoVoteThatTheBudgetDoesNotProtect(t *testing.T) {
	for what, test := range map[string]struct {
		budget state.Budget
		votes  bool
	}{
		"drains may leave too few of four":       {plantest.BudgetOf(2), false},
		"the budget is raised already":           {plantest.BudgetOf(3), true},
		"it does not protect the present quorum": {plantest.BudgetOf(1), true},
		"there is none":                          {state.Budget{}, true},
		"a budget of the user is for these Pods": {state.Budget{Exists: true, Other: "theirs"}, true},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.With(3, plantest.Learner), promoting(3), plantest.Budgeted(test.budget))
		step := membership.PromoteLearner(s)
		if wait, waits := step.(steps.Wait); waits == test.votes || waits && !strings.Contains(wait.Message, "lets drains leave 2 members, and a quorum of 4 voters is 3") {
			t.Errorf("%s: %+v", what, step)
		}
	}
}
