package turns

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// unlimited are the files that hold a slot of a gate without Gate.Limited, and what else ends a turn.
var unlimited = map[string]string{
	"internal/restore/spool.go":                  "a turn decodes until the next read of the store",
	"internal/backup/archiving/copying/turns.go": "a copy that hardly moves ends after a minute if others wait, and each one after its limit",
	"internal/objstore/page.go":                  "a turn decodes one page of a listing, which was read before",
	"internal/backup/archiving/memory.go":        "a turn writes one segment from a file into another one, and the segments of a usual size have turns of their own",
	"internal/kube/whole.go":                     "a turn reads one object of the API server",
	"internal/cluster/kubecache/pages.go":        "a turn lists pages of the API server, and computes nothing",
}

// The slot of all replays and the process of all restore tests had turns, and no end: work that computed for hours kept them from all others.
func TestWorkInASlotOfAGateEndsIfOthersWait(t *testing.T) {
	entering, limited := map[string]bool{}, map[string]bool{}
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || ofNoOperator(path) {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			for _, called := range selected(t, path) {
				entering[name] = entering[name] || called == "Enter"
				limited[filepath.Dir(name)] = limited[filepath.Dir(name)] || called == "Limited"
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, enters := range entering {
		if enters && unlimited[name] == "" && !limited[filepath.Dir(name)] {
			t.Errorf("%s holds a slot of a gate without an end: run the work with Gate.Limited, or add the file to unlimited with the reason", name)
		}
	}
	for name := range unlimited {
		if !entering[name] {
			t.Errorf("%s is listed and holds no slot", name)
		}
	}
}

// selected returns the names of the methods and fields that a file uses.
func selected(t *testing.T, path string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if s, is := node.(*ast.SelectorExpr); is {
			names = append(names, s.Sel.Name)
		}
		return true
	})
	return names
}
