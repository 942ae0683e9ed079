package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// If a kind of mistake is not among the mutants, it is not known whether the tests find it.
func TestAPlannerIsChangedInEachWay(t *testing.T) {
	content := []byte(`package p

var rules = []rule{{a}, {b}, {c}}

func f(n int) bool {
	if n/2+1 >= 3 && n != 4 {
		return false
	}
	return true
}
`)
	found, err := mutate(content)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.String())
	}
	want := []string{
		"`{a}` becomes ``", "`{a}, {b}` becomes `{b}, {a}`", "`{b}` becomes ``", "`{b}, {c}` becomes `{c}, {b}`", "`{c}` becomes ``",
		"`n/2+1 >= 3 && n != 4` becomes `!(n/2+1 >= 3 && n != 4)`", "`&&` becomes `||`", "`>=` becomes `>`", "`+` becomes `-`", "`!=` becomes `==`",
		"`false` becomes `true`", "`true` becomes `false`",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The Makefile and this program would otherwise run other tests first.
func TestTheSimulationsAreThoseOfTheMakefile(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if want := "SIMULATIONS = " + strings.ReplaceAll(simulations, "$", "$$") + "\n"; !strings.Contains(string(makefile), want) {
		t.Errorf("the Makefile has no %s", want)
	}
}

func TestEachPlannerHasMutants(t *testing.T) {
	t.Chdir("../..")
	for _, p := range planners {
		found, err := mutantsOf(p)
		if err != nil || len(found) < 150 {
			t.Errorf("%q has %d mutants, error %v", p.folders, len(found), err)
		}
		for _, d := range found {
			if p.without != "" && strings.HasPrefix(d.file, p.without) {
				t.Fatalf("%s is among them", d.file)
			}
		}
	}
}
