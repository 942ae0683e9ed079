package dbcheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readers are the functions that read a database or an archive that another party wrote.
var readers = map[string][]string{
	"dbfile":  {"Inspect", "InspectReader", "Extract", "Restore", "TryRestore", "HashKV"},
	"replay":  {"Replay"},
	"datadir": {"Apply"},
	// Tests only.
	"dbcheck": {"InThisProcess"},
}

// mayRead are the callers, each of which is the program of a process that may end.
var mayRead = map[string]string{
	"internal/dbcheck/child.go":        "the check",
	"internal/dbcheck/budget.go":       "tests with thousands of snapshots: no program calls InThisProcess",
	"internal/restoretest/child.go":    "the restore test",
	"internal/archive/replay/child.go": "the replay",
	"internal/seeder/restore.go":       "the seed, in a Pod of the user",
	"internal/datadir/child.go":        "the log of a data directory",
}

// An operator serves all namespaces. A reader in its own process is how one file ends all of their snapshots.
func TestOnlyAProcessThatMayEndReadsDatabases(t *testing.T) {
	unused := maps.Clone(mayRead)
	for path, file := range programFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(path))
		ast.Inspect(file, func(n ast.Node) bool {
			name := ""
			switch n := n.(type) {
			case *ast.SelectorExpr: // also a function that is passed on and not called
				if of, ok := n.X.(*ast.Ident); ok && slices.Contains(readers[of.Name], n.Sel.Name) {
					name = of.Name + "." + n.Sel.Name
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && (dir == "internal/archive/replay" || dir == "internal/datadir") && slices.Contains(readers[filepath.Base(dir)], id.Name) {
					name = id.Name
				}
			}
			if name == "" {
				return true
			}
			if mayRead[path] == "" {
				t.Errorf("%s uses %s in its own process: use internal/dbcheck, restoretest.Process or replay.Process", path, name)
			}
			delete(unused, path)
			return true
		})
	}
	for path := range unused {
		t.Errorf("%s reads no database any more: remove it from this list", path)
	}
}

// children are the files that start a process, and who limits what it says.
var children = map[string]string{
	"internal/child/child.go":            "",
	"internal/dbcheck/parent.go":         "the check",
	"internal/restoretest/parent.go":     "the restore test",
	"internal/archive/replay/process.go": "the replay",
	"internal/datadir/process.go":        "the log of a data directory",
	"internal/plugin/etcdctl/etcdctl.go": "", // the terminal of the user: the plugin keeps nothing of it
}

// The answer of a replay had a key of 16 MiB, and the operator read all of it. What a child has read, another party wrote.
func TestTheAnswerOfEachChildHasABound(t *testing.T) {
	unused := maps.Clone(children)
	for path, file := range programFiles(t) {
		starts := false
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				of, _ := n.X.(*ast.Ident)
				own := of != nil && (of.Name == "exec" && strings.HasPrefix(n.Sel.Name, "Command") || of.Name == "os" && n.Sel.Name == "StartProcess" || of.Name == "syscall" && n.Sel.Name == "ForkExec")
				if own && path != "internal/child/child.go" {
					t.Errorf("%s starts a process with %s.%s: use child.New, which limits what the process says", path, of.Name, n.Sel.Name)
				}
				starts = starts || own || of != nil && of.Name == "child" && n.Sel.Name == "New"
			case *ast.TypeSpec:
				if answer, ok := n.Type.(*ast.StructType); ok && n.Name.Name == "answer" && children[path] != "" {
					for _, field := range answer.Fields.List {
						if kind, ok := field.Type.(*ast.Ident); ok && kind.Name == "string" {
							t.Errorf("%s: the field %s of the answer has no bound: use child.Text", path, field.Names[0])
						}
					}
				}
			}
			return true
		})
		if _, listed := children[path]; starts && !listed {
			t.Errorf("%s starts a process: add it to this list, and a row to the limits in docs/security.md", path)
		}
		if starts {
			delete(unused, path)
		}
	}
	for path := range unused {
		t.Errorf("%s starts no process any more: remove it from this list", path)
	}
}

// ofTests returns whether only tests import the package of a file.
func ofTests(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
}

// programFiles returns the parsed files of all programs.
func programFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	root := filepath.Join("..", "..")
	for _, top := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if name, _ := filepath.Rel(root, path); err == nil && !ofTests(parsed) {
				files[filepath.ToSlash(name)] = parsed
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
