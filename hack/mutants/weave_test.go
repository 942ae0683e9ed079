package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/hack/mutants/on"
)

// If a mutant that is woven into a program differs from the one that is reported, a rule without a test counts as one that has a test.
func TestAWovenMutantChangesTheProgramAsReported(t *testing.T) {
	content := []byte(`package main

import "fmt"

type rule struct{ name string }

var rules = []rule{{"a"}, {"b"}}

func f(n int) bool {
	if n/2+1 >= 3 &&
		n != 4 {
		return false
	}
	return true
}

func main() {
	fmt.Println(rules)
	for n := range 7 {
		fmt.Print(f(n), " ")
	}
}
`)
	found, err := mutate(content)
	if err != nil {
		t.Fatal(err)
	}
	mutants := map[int]mutant{}
	for i, m := range found {
		mutants[i+1] = m
	}
	woven := weave(content, mutants)
	if got, want := strings.Count(string(woven), "\n"), strings.Count(string(content), "\n"); got != want {
		t.Errorf("the woven file has %d lines, want %d:\n%s", got, want, woven)
	}
	want := map[string]string{
		"":                     "[{a} {b}] true true true true true false false ",
		"`{\"a\"}` becomes ``": "[{b}] true true true true true false false ",
		"`{\"a\"}, {\"b\"}` becomes `{\"b\"}, {\"a\"}`":            "[{b} {a}] true true true true true false false ",
		"`{\"b\"}` becomes ``":                                     "[{a}] true true true true true false false ",
		"`n/2+1 >= 3 && n != 4` becomes `!(n/2+1 >= 3 && n != 4)`": "[{a} {b}] false false false false false true true ",
		"`&&` becomes `||`":                                        "[{a} {b}] false false false false false false false ",
		"`>=` becomes `>`":                                         "[{a} {b}] true true true true true true false ",
		"`+` becomes `-`":                                          "[{a} {b}] true true true true true true true ",
		"`!=` becomes `==`":                                        "[{a} {b}] true true true true false true true ",
		"`false` becomes `true`":                                   "[{a} {b}] true true true true true true true ",
		"`true` becomes `false`":                                   "[{a} {b}] false false false false false false false ",
	}
	program := build(t, woven)
	got := map[string]string{"": output(t, program, 0)}
	for number, m := range mutants {
		got[m.String()] = output(t, program, number)
	}
	for name := range maps.Keys(want) {
		if strings.ReplaceAll(got[name], "\n", " ") != want[name] {
			t.Errorf("%q prints\n%q, want\n%q", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d mutants, want %d", len(got), len(want))
	}
}

// build compiles the file as a package of this module, because package on belongs to it. The package exists only as an overlay.
func build(t *testing.T, content []byte) string {
	t.Helper()
	dir := t.TempDir()
	file, list, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "woven")
	absent, err := filepath.Abs(filepath.Join("woven", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {absent: file}})
	if err := errors.Join(err, os.WriteFile(file, content, 0o600), os.WriteFile(list, replace, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := gotool(t.Context(), []string{"build", "-overlay", list, "-o", program, "./woven"}); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, content)
	}
	return program
}

func output(t *testing.T, program string, number int) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), on.Number+"="+strconv.Itoa(number))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
