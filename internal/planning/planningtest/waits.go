package planningtest

import (
	"go/ast"
	"testing"
)

// patientWaits returns the functions of the package in the directory dir that return a Wait with the field Patient. Such a Wait has no limit.
func patientWaits(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, declaration := range declarations(t, dir) {
		if function, is := declaration.(*ast.FuncDecl); is && setsPatient(function) {
			found[function.Name.Name] = true
		}
	}
	return found
}

// setsPatient returns whether a function sets the field Patient of a literal.
func setsPatient(function *ast.FuncDecl) (sets bool) {
	ast.Inspect(function, func(node ast.Node) bool {
		if pair, is := node.(*ast.KeyValueExpr); is {
			key, named := pair.Key.(*ast.Ident)
			sets = sets || named && key.Name == "Patient"
		}
		return true
	})
	return sets
}

// SayWhatEnds fails for each such function that does not say what ends its waits, and for each that says so and has none.
func SayWhatEnds(t *testing.T, dir string, ends map[string]string) {
	t.Helper()
	found := patientWaits(t, dir)
	for function := range found {
		if ends[function] == "" {
			t.Errorf("%s waits without a limit. Leave Patient out, so that the wait is Stalled after a while, or say here what ends it", function)
		}
	}
	for function := range ends {
		if !found[function] {
			t.Errorf("%s is listed, and has no wait without a limit", function)
		}
	}
}
