package planning

import "testing"

type number int

func TestTheFirstRuleThatReturnsAStepWins(t *testing.T) {
	returns := func(name string, step any) Rule[int, any] {
		return Rule[int, any]{Name: name, Decide: func(int) any { return step }}
	}
	groups := []Group[int, any]{
		{Name: "first", Rules: []Rule[int, any]{returns("silent", nil)}},
		{Name: "second", Rules: []Rule[int, any]{returns("one", number(1)), returns("two", number(2))}},
	}
	step, name := First(groups, 0, any(number(0)))
	if step != any(number(1)) || name != "one" {
		t.Errorf("got step %v of rule %q, want 1 of one", step, name)
	}
	step, name = First(groups[:1], 0, any(number(0)))
	if step != any(number(0)) || name != "" {
		t.Errorf("got step %v of rule %q, want the default of no rule", step, name)
	}
}
