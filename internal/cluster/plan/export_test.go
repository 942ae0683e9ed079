package plan

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Seams for the tests of the outer package, which can use the model world.

// Decide is what a rule of the plan does.
type Decide = func(State) Step

// allRules in order, without their groups.
func allRules() []rule {
	var all []rule
	for _, g := range Rules {
		all = append(all, g.Rules...)
	}
	return all
}

// RuleNames in order.
func RuleNames() []string {
	var names []string
	for _, r := range allRules() {
		names = append(names, r.Name)
	}
	return names
}

// Change of the rules.
type Change func([]rule) []rule

// PlanWith plans by the rules after one change of them.
func PlanWith(change Change) func(State) Step {
	changed := []group{{Rules: change(allRules())}}
	return func(s State) Step {
		step, _ := planning.First(changed, s, Step(Done{}))
		return step
	}
}

// Without leaves a rule out.
func Without(name string) Change {
	return func(all []rule) []rule {
		return slices.DeleteFunc(all, func(r rule) bool { return r.Name == name })
	}
}

// Before asks one rule before another.
func Before(name, other string) Change {
	return func(all []rule) []rule {
		i := slices.IndexFunc(all, func(r rule) bool { return r.Name == name })
		moved := all[i]
		all = slices.Delete(all, i, i+1)
		j := slices.IndexFunc(all, func(r rule) bool { return r.Name == other })
		return slices.Insert(all, j, moved)
	}
}

// Instead asks another rule in a rule's place.
func Instead(name string, decide Decide) Change {
	return func(all []rule) []rule {
		i := slices.IndexFunc(all, func(r rule) bool { return r.Name == name })
		all[i].Decide = decide
		return all
	}
}

// Then makes another change after this one.
func (c Change) Then(next Change) Change {
	return func(all []rule) []rule { return next(c(all)) }
}
