package plan

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// These exports are for the tests in package plan_test, which can use the simulated world of package sim.

// Decide is the decision of a rule: it returns a step, or nil.
type Decide = func(state.State) steps.Step

// allRules returns the rules in order, without their groups.
func allRules() []rule {
	var all []rule
	for _, g := range Rules {
		all = append(all, g.Rules...)
	}
	return all
}

// RuleNames returns the names of the rules in order.
func RuleNames() []string {
	var names []string
	for _, r := range allRules() {
		names = append(names, r.Name)
	}
	return names
}

// Change is a change of the list of rules.
type Change func([]rule) []rule

// PlanWith returns a plan that uses the changed rules.
func PlanWith(change Change) func(state.State) steps.Step {
	changed := []group{{Rules: change(allRules())}}
	return func(s state.State) steps.Step {
		step := first(changed, s, func(string, steps.Step) bool { return false }).step
		if step == nil {
			return steps.Done{}
		}
		return step
	}
}

// Without removes a rule.
func Without(name string) Change {
	return func(all []rule) []rule {
		return slices.DeleteFunc(all, func(r rule) bool { return r.Name == name })
	}
}

// Before moves a rule to the place before another one.
func Before(name, other string) Change {
	return func(all []rule) []rule {
		i := slices.IndexFunc(all, func(r rule) bool { return r.Name == name })
		moved := all[i]
		all = slices.Delete(all, i, i+1)
		j := slices.IndexFunc(all, func(r rule) bool { return r.Name == other })
		return slices.Insert(all, j, moved)
	}
}

// Instead replaces the decision of a rule.
func Instead(name string, decide Decide) Change {
	return func(all []rule) []rule {
		i := slices.IndexFunc(all, func(r rule) bool { return r.Name == name })
		all[i].Decide = decide
		return all
	}
}

// Then applies another change after this one.
func (c Change) Then(next Change) Change {
	return func(all []rule) []rule { return next(c(all)) }
}
