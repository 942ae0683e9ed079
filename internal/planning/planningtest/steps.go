// Package planningtest helps the tests of the three plans.
package planningtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// StepTypes returns the sorted names of all types in the package in the directory dir that have a method describe or Describe, as
// its source declares them. Tests of that package are not read.
func StepTypes(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, declaration := range declarations(t, dir) {
		if name := describer(declaration); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// declarations returns those of the package in the directory dir, without its tests.
func declarations(t *testing.T, dir string) (all []ast.Decl) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parsed.Decls...)
	}
	return all
}

// describer returns the type that a declaration gives that method, and an empty name for any other declaration.
func describer(declaration ast.Decl) string {
	method, ok := declaration.(*ast.FuncDecl)
	if !ok || method.Recv == nil || !strings.EqualFold(method.Name.Name, "describe") {
		return ""
	}
	receiver := method.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	return fmt.Sprint(receiver)
}

// TypesOf returns the sorted names of the types of the steps.
func TypesOf[Step any](steps []Step) []string {
	var names []string
	for _, step := range steps {
		names = append(names, reflect.TypeOf(step).Name())
	}
	slices.Sort(names)
	return names
}
