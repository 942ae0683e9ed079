package plan

import (
	"slices"
	"testing"
)

// A quota refused the PodDisruptionBudget, and with it the removal of a member that would have made room for it.
func TestAClusterShrinksThoughItsBudgetIsRefused(t *testing.T) {
	s := state(formed, members(3), size(2))
	s.Budget = Budget{}
	step, rule := Choose(s)
	if rule != "applyBudget" || !Independent(s, rule, step) {
		t.Fatalf("the plan is %+v by %s", step, rule)
	}
	s.Refuse(step)
	if step, _ := Choose(s); !Acts(step) {
		t.Errorf("without the budget the plan is %+v", step)
	} else if _, removes := step.(RemoveMember); !removes {
		t.Errorf("without the budget the plan is %+v, want a member removed", step)
	}
}

func TestIndependentRulesAreRules(t *testing.T) {
	for _, name := range slices.Concat(independentRules, stoppedRules) {
		if !slices.Contains(RuleNames(), name) {
			t.Errorf("there is no rule %s", name)
		}
	}
	if Independent(state(func(s *State) { s.Services = Services{} }), "applyServices", ApplyServices{}) {
		t.Error("a cluster forms without its Services")
	}
}
