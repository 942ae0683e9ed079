package auth

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheAuthRevisionIsNeverComparedAlone reads the code of the operators: whoever compares two auth revisions without Keeps misses that
// authentication was turned on.
func TestTheAuthRevisionIsNeverComparedAlone(t *testing.T) {
	raw := map[string]bool{"AuthRevision": true, "AuthFrom": true, "AuthTo": true}
	files, read := token.NewFileSet(), 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		read++
		ast.Inspect(file, func(n ast.Node) bool {
			comparison, ok := n.(*ast.BinaryExpr)
			if !ok {
				return true
			}
			for _, side := range []ast.Expr{comparison.X, comparison.Y} {
				if field, ok := side.(*ast.SelectorExpr); ok && raw[field.Sel.Name] {
					t.Errorf("%s: %s is compared alone: compare two auth.State with Keeps", files.Position(n.Pos()), field.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || read < 100 {
		t.Fatalf("%d files were read: %v", read, err)
	}
}
