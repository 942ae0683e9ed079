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
	"login":                 "whether a member answers",
	"r.ask":                 "whether a member answers",
	"r.dial":                "whether a member answers",
	"r.reach":               "whether a member answers",
	"r.applied":             "which member survives if the quorum is lost",
	"r.observeHashes":       "which member is corrupt",
	"r.observeAuth":         "as which user the operator asks the members",
	"r.checkSecret":         "whether members can start, and with which certificate the operator asks them",
	"r.secretOf":            "the same",
	"r.observeCertManager":  "which certificates are requested",
	"r.shows":               "when an old CA is removed",
	"r.observeExpansion":    "which volumes grow",
	"r.observeStorageClass": "whether a member is created",
	"r.observeZones":        "in which zone a member is created",
	"r.observePublished":    "when a Pod that waits begins",
	"r.observeRequired":     "which Pod is recreated",
}

// remote are the names by which this package reaches the API server past the cache, a member or a seed.
var remote = []string{"APIReader", "SecretData", "reads", "DryRunAll", "SeedPercent", "Shown", "Applied", "Dial", "dial"}

// A pass listed the events about Pods that do not start. When the storage of all clusters failed, these lists took the whole time of each pass, and
// no cluster was repaired. Without this test, the next read that only explains does the same.
func TestEachReadBeforeThePlanDecidesOrHasTheBoundOfExplanations(t *testing.T) {
	calls := readCalls(t)
	explained := calls.asking("explanations")
	if len(explained) < 3 {
		t.Errorf("only %q are explanations", explained)
	}
	found := calls.asking("r.observe", "r.explain")
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
	if !slices.Contains(calls["r.observe"], "r.explain") {
		t.Error("a pass does not call explain")
	}
}

// functions are those of this package by name, and the list of explanations, each with the names in it. Those of methods begin with "r." or "v.", as
// the package calls a Reconciler and a view everywhere.
type functions map[string][]string

func readCalls(t *testing.T) functions {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	f := functions{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			switch declared := declared.(type) {
			case *ast.FuncDecl:
				f[calledAs(declared)] = namesIn(declared.Body)
			case *ast.GenDecl:
				for _, spec := range declared.Specs {
					if v, is := spec.(*ast.ValueSpec); is && v.Names[0].Name == "explanations" {
						f["explanations"] = namesIn(v)
					}
				}
			}
		}
	}
	return f
}

func calledAs(of *ast.FuncDecl) string {
	if of.Recv == nil {
		return of.Name.Name
	}
	if names := of.Recv.List[0].Names; len(names) == 1 {
		return names[0].Name + "." + of.Name.Name
	}
	return "?." + of.Name.Name
}

// namesIn returns the names in a part of the code: r.observe, v.owns, and all others without what is before the dot.
func namesIn(of ast.Node) (names []string) {
	ast.Inspect(of, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if _, method := n.X.(*ast.ParenExpr); method { // (*Reconciler).observeSeed
				names = append(names, "r."+n.Sel.Name)
			} else if on, is := n.X.(*ast.Ident); is && (on.Name == "r" || on.Name == "v") {
				names = append(names, on.Name+"."+n.Sel.Name)
			}
			names = append(names, "."+n.Sel.Name)
		case *ast.CallExpr:
			if name, is := n.Fun.(*ast.Ident); is {
				names = append(names, name.Name)
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
		if todo = todo[1:]; reached[name] || slices.Contains(except, name) {
			continue
		}
		reached[name] = true
		if slices.ContainsFunc(remote, func(asked string) bool { return slices.Contains(f[name], "."+asked) }) {
			found = append(found, name)
		}
		for _, m := range f[name] {
			if f[m] != nil {
				todo = append(todo, m)
			}
		}
	}
	slices.Sort(found)
	return found
}
