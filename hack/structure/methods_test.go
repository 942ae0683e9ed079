package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// mostMethods is how many methods a type of the production code may have. A type with more of them has more than one concept in it, so that a
// reader of one rule has to know the fields of all others.
const mostMethods = 20

// manyMethods are the types that have more, each with its number of methods. A number here may only become smaller.
var manyMethods = map[string]int{}

// Without this test, a type that has become small grows again, one method at a time.
func TestNoTypeHasMoreThan20Methods(t *testing.T) {
	found := map[string]int{}
	for _, folder := range []string{"api", "cmd", "internal"} {
		countMethods(t, filepath.Join("..", ".."), folder, found)
	}
	if len(found) < 100 {
		t.Fatalf("only %d types with methods were found, so the test does not read the code", len(found))
	}
	for name, n := range found {
		switch listed := manyMethods[name]; {
		case n > mostMethods && listed == 0:
			t.Errorf("%s has %d methods. The limit is %d: find the smaller type that is missing.", name, n, mostMethods)
		case listed > 0 && n > listed:
			t.Errorf("%s had %d methods, and has %d now. The limit is %d: give the new ones to a smaller type.", name, listed, n, mostMethods)
		case listed > 0 && n < listed:
			t.Errorf("%s had %d methods, and has %d now: write that into manyMethods, or remove it there if it has at most %d.", name, listed, n, mostMethods)
		}
	}
	for name := range manyMethods {
		if found[name] == 0 {
			t.Errorf("%s is in manyMethods, but there is no such type. Remove it there.", name)
		}
	}
}

// countMethods adds the methods of each type in the production files of a folder.
func countMethods(t *testing.T, root, folder string, found map[string]int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(entry.Name(), "zz_generated") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		in, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if receiver := receiverOf(declaration); receiver != "" {
				found[filepath.ToSlash(in)+"."+receiver]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
