package snapshot_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every reader and writer of snapshots reserves its bytes. A caller that compiles without a reservation was how one namespace
// filled the disk of all others.
func TestEveryCallerReservesWhatItWrites(t *testing.T) {
	required := map[string][]string{
		"snapshot.Request":            {"Spool"},
		"snapshot.RestoreTestRequest": {"Spool", "Try"},
		"snapshot.Place":              {"Dir", "Room"},
	}
	// The seed writes to the volume of its own member, which no other namespace uses.
	alone := map[string]int{"internal/source/source.go": 1, "internal/source/signed.go": 1}
	seen := map[string]int{}
	for path, file := range programFiles(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				name := nameOf(n.Type)
				for _, field := range required[name] {
					if !slices.ContainsFunc(n.Elts, func(e ast.Expr) bool { return sets(e, field) }) {
						t.Errorf("%s: %s without %s", path, name, field)
					}
				}
				if required[name] != nil {
					seen[name]++
				}
			case *ast.CallExpr:
				if nameOf(n.Fun) == "snapshot.Alone" {
					alone[path]--
				}
			}
			return true
		})
	}
	for path, left := range alone {
		if left != 0 {
			t.Errorf("%s calls snapshot.Alone: give its reader a reservation", path)
		}
	}
	if seen["snapshot.Request"] < 3 || seen["snapshot.Place"] < 2 || seen["snapshot.RestoreTestRequest"] < 1 {
		t.Errorf("the callers are not found any more: %v", seen)
	}
}

// programFiles returns the parsed files of all programs.
func programFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, top := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			name, _ := filepath.Rel(filepath.Join("..", ".."), path)
			files[filepath.ToSlash(name)] = parsed
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func nameOf(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// sets reports whether an element of a literal sets a field to something else than nil.
func sets(e ast.Expr, field string) bool {
	pair, ok := e.(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	key, ok := pair.Key.(*ast.Ident)
	value, isName := pair.Value.(*ast.Ident)
	return ok && key.Name == field && (!isName || value.Name != "nil")
}
