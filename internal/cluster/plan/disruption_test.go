package plan

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func budgeted(b state.Budget) change { return func(s *state.State) { s.Budget = b } }

func TestPlanDisruption(t *testing.T) {
	planTests{
		"lets a drain take one of three": {
			stateWith(formed, members(3), budgeted(state.Budget{Exists: true})), steps.ApplyBudget{Incarnation: 1, MinAvailable: 2},
		},
		"lets a drain take two of five": {
			stateWith(formed, members(5), size(5), budgeted(budgetOf(4))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 3},
		},
		"lets a drain take the only member, because its volume keeps the data": {
			stateWith(formed, members(1), size(1), budgeted(budgetOf(1))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 0},
		},
		"lets a drain take one of two": {
			stateWith(formed, members(2), size(2), budgeted(budgetOf(2))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 1},
		},
		"blocks a drain that would delete the only copy of the data": {
			stateWith(formed, members(1), size(1), ephemeral, budgeted(budgetOf(0))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 1},
		},
		"blocks drains while one of three members is missing": {
			stateWith(formed, members(2), budgeted(budgetOf(1))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 2},
		},
		"counts a learner as a voter before it gets its vote": {
			stateWith(formed, members(3), size(4), with(3, learner), budgeted(budgetOf(2))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 3},
		},
		"does not count a learner that does not start": {
			stateWith(formed, members(3), size(4), with(3, justAdded, pod(state.PodStarting), volume(state.VolumePresent)), budgeted(budgetOf(3))),
			steps.ApplyBudget{Incarnation: 1, MinAvailable: 2},
		},
		"does not count the Pod of a removed member as a voter": {
			stateWith(formed, members(4), with(3, removed), budgeted(budgetOf(2))), steps.ApplyBudget{Incarnation: 1, MinAvailable: 3},
		},
		"corrects a budget that another client changed": {
			stateWith(formed, members(3), budgeted(state.Budget{Exists: true, Incarnation: 1, MinAvailable: 2})), steps.ApplyBudget{Incarnation: 1, MinAvailable: 2},
		},
		"deletes its budget beside a user's, because two budgets for one Pod block every drain": {
			stateWith(formed, members(3), budgeted(state.Budget{Exists: true, Current: true, Other: "mine"})), steps.WithdrawBudget{Other: "mine"},
		},
		"creates no budget beside the user's": {
			stateWith(formed, members(3), budgeted(state.Budget{Other: "mine"})), steps.Done{},
		},
	}.run(t)
}

// A PodDisruptionBudget that counts a learner as a voter lets a drain take the quorum.
func TestADrainLeavesAQuorumBesideALearnerThatTheServiceSelects(t *testing.T) {
	// The Pod of a learner was created while no quorum answered, so it has the label of a voter. It does not answer the operator.
	s := stateWith(formed, members(3), size(4), with(3, learner, func(m *state.Member) { m.InService, m.PodReady, m.Answers = true, true, false }))
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
		if _, is := Plan(s).(steps.RemoveFromService); is {
			return
		}
	}
	t.Errorf("no rule takes a learner out of the client Service: %T", Plan(s))
}

// While the API server refuses a higher PodDisruptionBudget, a drain would be allowed to take the quorum of a larger cluster.
func TestALearnerGetsNoVoteThatTheBudgetDoesNotProtect(t *testing.T) {
	for what, test := range map[string]struct {
		budget state.Budget
		votes  bool
	}{
		"drains may leave too few of four":       {budgetOf(2), false},
		"the budget is raised already":           {budgetOf(3), true},
		"it does not protect the present quorum": {budgetOf(1), true},
		"there is none":                          {state.Budget{}, true},
		"a budget of the user is for these Pods": {state.Budget{Exists: true, Other: "theirs"}, true},
	} {
		s := stateWith(formed, members(3), size(4), with(3, learner), promoting(3), budgeted(test.budget))
		step := membership.PromoteLearner(s)
		if wait, waits := step.(steps.Wait); waits == test.votes || waits && !strings.Contains(wait.Message, "lets drains leave 2 members, and a quorum of 4 voters is 3") {
			t.Errorf("%s: %+v", what, step)
		}
	}
}
