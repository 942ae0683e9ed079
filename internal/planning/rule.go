// Package planning is what the plans of the three operators share: rules in groups, the description of a step, and the conditions of a status.
//
// A plan is an ordered list of rules. A rule reads a State and returns a Step, or nil. The first Step wins. A Step is one
// effect, and describes itself: the reason and message of the condition, the events, and when to look again. The package
// imports neither a client nor a clock, so a plan that is built from it is a pure function.
package planning

// Rule decides about one concern.
type Rule[State, Step any] struct {
	// Name states the condition or the act, in lower camel case. Tests refer to it.
	Name string
	// Decide returns the step that the state calls for, or nil.
	Decide func(State) Step
}

// Group is a run of rules that stand in the plan for the same purpose.
type Group[State, Step any] struct {
	// Name of the group, one or two words.
	Name string
	// Purpose is one sentence: what the rules of the group protect or achieve.
	Purpose string
	// Rules in the order in which they are asked.
	Rules []Rule[State, Step]
}

// First returns the step of the first rule that returns one, and the name of that rule. It returns otherwise and an
// empty name if no rule does.
func First[State, Step any](groups []Group[State, Step], s State, otherwise Step) (Step, string) {
	return FirstExcept(groups, s, otherwise, func(string, Step) bool { return false })
}

// FirstExcept is First without the steps that skip returns true for. skip gets the name of the rule and its step.
func FirstExcept[State, Step any](groups []Group[State, Step], s State, otherwise Step, skip func(string, Step) bool) (Step, string) {
	for _, group := range groups {
		for _, rule := range group.Rules {
			if step := rule.Decide(s); any(step) != nil && !skip(rule.Name, step) {
				return step, rule.Name
			}
		}
	}
	return otherwise, ""
}
