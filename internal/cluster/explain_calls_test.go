package cluster

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decides are the functions of a pass that ask somebody before the plan and not in explain, and what the plan decides with the answer.
var decides = map[string]string{
	"members.login":               "whether a member answers",
	"members.ask":                 "whether a member answers",
	"members.dial":                "whether a member answers",
	"members.reach":               "whether a member answers",
	"members.applied":             "which member survives if the quorum is lost",
	"members.observeHashes":       "which member is corrupt",
	"members.With":                "which users and roles are changed",
	"secrets.Secret":              "which passwords are changed",
	"observe.observeAuth":         "as which user the operator asks the members",
	"secrets.checkSecret":         "whether members can start, and with which certificate the operator asks them",
	"secrets.secretOf":            "the same",
	"secrets.SecretData":          "the same",
	"secrets.observeIssued":       "whether a certificate is there, of the cluster or of a user",
	"secrets.ownSecret":           "the same",
	"secrets.certificateOf":       "which certificates are requested",
	"secrets.observeCertManager":  "which certificates are requested",
	"secrets.observeLeft":         "which users that left the spec still have one",
	"members.shows":               "when an old CA is removed",
	"observe.observeExpansion":    "which volumes grow",
	"observe.observeStorageClass": "whether a member is created",
	"observe.observeSourceClaim":  "whether a seed mounts the volume that was accepted",
	"observe.observeZones":        "in which zone a member is created",
	"observe.observePublished":    "when a Pod that waits begins",
	"observe.observeRequired":     "which Pod is recreated",
}

// remote are the names by which the packages reach the API server past the cache, a member or a seed.
var remote = []string{"APIReader", "EachPage", "SecretData", "ReadSecret", "secretOf", "certificateOf", "DryRunAll", "SeedProgress", "Shown", "Applied", "Dial", "dial"}

// A pass listed the events about Pods that do not start. When the storage of all clusters failed, these lists took the whole time of each pass, and
// no cluster was repaired. Without this test, the next read that only explains does the same.
func TestEachReadBeforeThePlanDecidesOrHasTheBoundOfExplanations(t *testing.T) {
	calls := readCalls(t)
	explained := calls.asking("observe.explanations")
	if len(explained) < 3 {
		t.Errorf("only %q are explanations", explained)
	}
	found := calls.asking("observe.Observe", "observe.explain")
	for _, name := range found {
		if decides[name] == "" {
			t.Errorf("%s asks the API server, a member or a seed before the plan. If the answer stands only in a message, add the function to explanations. If the plan decides with it, add it to decides", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(decides)) {
		if !slices.Contains(found, name) {
			t.Errorf("%s is listed and asks nothing", name)
		}
	}
	if !slices.Contains(calls.of["observe.Observe"].uses, "observe.explain") {
		t.Error("a pass does not call explain")
	}
}

// function is one of a package, or the methods with one name of all its types.
type function struct {
	// mentions are all names in it, without what is before the dot.
	mentions []string
	// uses are the functions that it may call. A method is found by its name in each package that this one imports, so there may be too many, and
	// never too few.
	uses []string
}

// functions are those of all packages that a pass uses, as package.name, and the list of explanations.
type functions struct {
	of map[string]*function
	// imports are the packages below this folder that each of them imports, also indirectly, and itself.
	imports map[string][]string
}

func readCalls(t *testing.T) functions {
	t.Helper()
	files := map[string][]*ast.File{}
	paths, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		folder := filepath.Base(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || folder == "plan" || folder == "clustertest" {
			continue // package plan has no client, as the linter sees to
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[folder] = append(files[folder], file)
	}
	f := functions{of: map[string]*function{}, imports: importsOf(files)}
	for folder, all := range files {
		for _, file := range all {
			f.declare(folder, file)
		}
	}
	for name, declared := range f.of {
		folder, _, _ := strings.Cut(name, ".")
		for _, mentioned := range declared.mentions {
			for _, in := range f.imports[folder] {
				if used := in + "." + mentioned; f.of[used] != nil {
					declared.uses = append(declared.uses, used)
				}
			}
		}
	}
	return f
}

// importsOf returns for each folder itself and the folders that it imports, also indirectly.
func importsOf(files map[string][]*ast.File) map[string][]string {
	imports := map[string][]string{}
	var add func(to, folder string)
	add = func(to, folder string) {
		if files[folder] == nil || slices.Contains(imports[to], folder) {
			return
		}
		imports[to] = append(imports[to], folder)
		for _, file := range files[folder] {
			for _, i := range file.Imports {
				if _, below, is := strings.Cut(strings.Trim(i.Path.Value, `"`), "/internal/cluster/"); is {
					add(to, below)
				}
			}
		}
	}
	for folder := range files {
		add(folder, folder)
	}
	return imports
}

// declare adds what a file declares.
func (f functions) declare(folder string, file *ast.File) {
	add := func(name string, of ast.Node) {
		key := folder + "." + name
		if f.of[key] == nil {
			f.of[key] = &function{}
		}
		f.of[key].mentions = append(f.of[key].mentions, namesIn(of)...)
	}
	for _, declared := range file.Decls {
		switch declared := declared.(type) {
		case *ast.FuncDecl:
			add(declared.Name.Name, declared.Body)
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				if v, is := spec.(*ast.ValueSpec); is && v.Names[0].Name == "explanations" {
					add("explanations", v)
				}
			}
		}
	}
}

// namesIn returns the names in a part of the code, without what is before the dot.
func namesIn(of ast.Node) (names []string) {
	ast.Inspect(of, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			names = append(names, n.Sel.Name)
		case *ast.CallExpr:
			for _, named := range append([]ast.Expr{n.Fun}, n.Args...) {
				if name, is := named.(*ast.Ident); is {
					names = append(names, name.Name)
				}
			}
		}
		return true
	})
	return names
}

// asking returns the functions that a function reaches and that mention something remote.
func (f functions) asking(from string, except ...string) (found []string) {
	reached, todo := map[string]bool{}, []string{from}
	for len(todo) > 0 {
		name := todo[0]
		if todo = todo[1:]; reached[name] || f.of[name] == nil || slices.Contains(except, name) {
			continue
		}
		reached[name] = true
		if slices.ContainsFunc(remote, func(asked string) bool { return slices.Contains(f.of[name].mentions, asked) }) {
			found = append(found, name)
		}
		todo = append(todo, f.of[name].uses...)
	}
	slices.Sort(found)
	return found
}
