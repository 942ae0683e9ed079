package plan

import (
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A quota refused the PodDisruptionBudget. That blocked the removal of a member, although the removal would have freed quota.
func TestAClusterShrinksThoughItsBudgetIsRefused(t *testing.T) {
	s := stateWith(formed, members(3), size(2))
	s.Budget = state.Budget{}
	step, rule := Choose(s)
	if rule != "applyBudget" || !Independent(s, rule, step) {
		t.Fatalf("the plan is %+v by %s", step, rule)
	}
	Refuse(&s, step)
	if step, _ := Choose(s); !steps.Acts(step) {
		t.Errorf("without the budget the plan is %+v", step)
	} else if _, removes := step.(steps.RemoveMember); !removes {
		t.Errorf("without the budget the plan is %+v, want a member removed", step)
	}
}

// After a restore, the API server may refuse to delete the Pod of an old member that still runs. If that kept the restored
// cluster at one member, one node failure could lose the data.
func TestARestoredClusterGrowsBesideAnOldMemberThatMayNotBeDeleted(t *testing.T) {
	s := stateWith(formed, members(3), stopped, with(2, pod(state.PodRunning)), restored(v1beta2.RestoreGrowing), asked, aSeed(serving, inSeedMembership))
	s.MembershipKnown = true
	for i := range 3 {
		with(i, removed)(&s)
	}
	step, rule := Choose(s)
	if budget, is := step.(steps.ApplyBudget); is {
		Refuse(&s, budget)
		step, rule = Choose(s)
	}
	if _, deletes := step.(steps.DeletePod); !deletes || !Independent(s, rule, step) {
		t.Fatalf("the plan is %+v by %s", step, rule)
	}
	Refuse(&s, step)
	if create, grows := Plan(s).(steps.CreateMember); !grows || create.Incarnation != 2 {
		t.Errorf("without that the plan is %+v", Plan(s))
	}
}

func TestIndependentRulesAreRules(t *testing.T) {
	for _, name := range independentRules {
		if !slices.Contains(RuleNames(), name) {
			t.Errorf("there is no rule %s", name)
		}
	}
	if Independent(stateWith(func(s *state.State) { s.Services = state.Services{} }), "applyServices", steps.ApplyServices{}) {
		t.Error("a cluster forms without its Services")
	}
}
