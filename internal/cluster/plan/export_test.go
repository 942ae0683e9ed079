package plan

import "slices"

// Seams for the tests of the outer package, which can use the model world.

// Rule is a rule of the plan.
type Rule = rule

// RuleNames in order.
func RuleNames() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// Change of the rules.
type Change func([]namedRule) []namedRule

// PlanWith plans by the rules after one change of them.
func PlanWith(change Change) func(State) Step {
	changed := change(slices.Clone(rules))
	return func(s State) Step { return planBy(changed, s) }
}

// Without leaves a rule out.
func Without(name string) Change {
	return func(all []namedRule) []namedRule {
		return slices.DeleteFunc(all, func(r namedRule) bool { return r.name == name })
	}
}

// Before asks one rule before another.
func Before(name, other string) Change {
	return func(all []namedRule) []namedRule {
		i := slices.IndexFunc(all, func(r namedRule) bool { return r.name == name })
		moved := all[i]
		all = slices.Delete(all, i, i+1)
		j := slices.IndexFunc(all, func(r namedRule) bool { return r.name == other })
		return slices.Insert(all, j, moved)
	}
}

// Instead asks another rule in a rule's place.
func Instead(name string, say Rule) Change {
	return func(all []namedRule) []namedRule {
		i := slices.IndexFunc(all, func(r namedRule) bool { return r.name == name })
		all[i].say = say
		return all
	}
}

// Then makes another change after this one.
func (c Change) Then(next Change) Change {
	return func(all []namedRule) []namedRule { return next(c(all)) }
}
