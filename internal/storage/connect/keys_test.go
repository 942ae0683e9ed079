package connect

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The operators keep only these keys of a Secret. A key that is missing in Keys would be empty, so the store could not be opened with it.
func TestKeysAreAllKeysThatAStoreReads(t *testing.T) {
	keys := Keys()
	for _, ambient := range [][]string{s3Ambient, gcsAmbient, absAmbient} {
		for _, key := range ambient {
			if !slices.Contains(keys, key) {
				t.Errorf("%s is missing", key)
			}
		}
	}
	for _, path := range []string{"s3.go", "gcs.go", "abs.go", "endpoint.go", "secret.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		ast.Inspect(file, func(node ast.Node) bool {
			for _, of := range keysIn(node) {
				literal, is := of.(*ast.BasicLit)
				if !is {
					continue
				}
				key, _ := strconv.Unquote(literal.Value)
				if read++; !slices.Contains(keys, key) {
					t.Errorf("%s reads the key %s, which is missing in Keys", path, key)
				}
			}
			return true
		})
		if provider := strings.TrimSuffix(filepath.Base(path), ".go"); read == 0 && provider != "secret" {
			t.Errorf("%s reads no key", path)
		}
	}
}

// keysIn returns the keys that a part of the code reads.
func keysIn(node ast.Node) []ast.Expr {
	switch node := node.(type) {
	case *ast.CallExpr:
		called, is := node.Fun.(*ast.SelectorExpr)
		if is && slices.Contains([]string{"text", "has", "needs"}, called.Sel.Name) {
			return node.Args
		}
	case *ast.IndexExpr:
		if data, is := node.X.(*ast.SelectorExpr); is && data.Sel.Name == "Data" {
			return []ast.Expr{node.Index}
		}
	}
	return nil
}
