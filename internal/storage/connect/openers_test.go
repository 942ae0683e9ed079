package connect_test

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

// programs yields each file of the programs, with its path in the repository.
func programs(t *testing.T, yield func(path string, file *ast.File)) {
	t.Helper()
	const root = "../../.."
	for _, folder := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				name, _ := filepath.Rel(root, path)
				yield(filepath.ToSlash(name), file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// of returns the name of a selector of that package, or an empty string.
func of(node ast.Node, pkg string) string {
	selector, ok := node.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if name, ok := selector.X.(*ast.Ident); !ok || name.Name != pkg {
		return ""
	}
	return selector.Sel.Name
}

// An opener that forgets the Scope could open each path with a Secret, in the platform's bucket too. With the operator's own identity, the zero
// Scope refuses it.
func TestEachOpenerOfAStoreSaysForWhomItIs(t *testing.T) {
	var openers []string
	programs(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			literal, ok := node.(*ast.CompositeLit)
			if !ok || of(literal.Type, "connect") != "Access" && of(literal.Type, "source") != "By" {
				return true
			}
			openers = append(openers, path)
			if !slices.ContainsFunc(literal.Elts, func(element ast.Expr) bool {
				pair, ok := element.(*ast.KeyValueExpr)
				if !ok {
					return false
				}
				key, ok := pair.Key.(*ast.Ident)
				return ok && key.Name == "For"
			}) {
				t.Errorf("%s opens a store for nobody: set the field For", path)
			}
			return true
		})
	})
	slices.Sort(openers)
	want := []string{
		"internal/backup/clients/site.go",        // snapshots, series, copies, archives, restore tests, deletions
		"internal/plugin/cli/snapshots/store.go", // the stores of download and import, on the machine of a user
		"internal/restore/access.go",             // who reads a source, signs a URL for it
		"internal/restore/access.go",
		"internal/restore/point.go",  // the snapshot of a point in time
		"internal/restore/safety.go", // safety snapshots
		"internal/seeder/follow.go",  // the Pod of a standby's first member
		"internal/seeder/seed.go",    // the Pod of a member
		"internal/source/source.go",
	}
	if !slices.Equal(openers, want) {
		t.Errorf("stores are opened in %v, expected %v: add a new one to the tries of the own identity, too", openers, want)
	}
}

// ownProcess are the programs of one party, which has their identity and decides alone what it is used for.
var ownProcess = map[string]string{
	"internal/seeder/seed.go":                "the seed runs as the ServiceAccount of the members",
	"internal/seeder/follow.go":              "the standby runs in the same Pod as the seed, as the ServiceAccount of the members",
	"internal/plugin/cli/snapshots/store.go": "kubectl etcd runs on the machine of the person who calls it, with the Secret of the EtcdBackup or with that person's own identity",
}

// The operators must ask the list. Only a program that runs as one party has no list.
func TestNoOperatorAllowsItselfEverything(t *testing.T) {
	programs(t, func(path string, file *ast.File) {
		if ownProcess[path] != "" || strings.HasPrefix(path, "internal/storage/grant/") {
			return
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if name := of(node, "grant"); name == "Process" || name == "Everything" || name == "Scope" && !slices.Contains([]string{
				"internal/storage/connect/access.go", "internal/restore/asked.go", "internal/source/source.go", "internal/restore/access.go",
			}, path) {
				t.Errorf("%s uses grant.%s", path, name)
			}
			return true
		})
	})
}

// A store that is opened in another way has no gate. The tests of other packages may have a directory as their store.
func TestStoresAreOpenedOnlyByThisPackage(t *testing.T) {
	programs(t, func(path string, file *ast.File) {
		ofTests := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
		if ofTests || strings.HasPrefix(path, "internal/storage/connect/") || strings.HasPrefix(path, "internal/objstore/") {
			return
		}
		for _, spec := range file.Imports {
			for _, provider := range []string{"s3", "gcs", "abs", "file"} {
				if strings.Trim(spec.Path.Value, `"`) == "github.com/etcd-suite/etcd-operator/internal/objstore/"+provider {
					t.Errorf("%s imports %s", path, spec.Path.Value)
				}
			}
		}
	})
}
