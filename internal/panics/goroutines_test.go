package panics_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bare are the goroutines and timers that do not start with Caught or InGroup, and why a panic of theirs ends no process that serves others.
var bare = map[string]string{
	"internal/worker/worker.go: launch: Go":                         "runs each job in Try",
	"internal/backup/archiving/archives.go: Set: Go":                "runs each attempt of an archiver in Try",
	"internal/backup/archiving/copying/copies.go: Set: Go":          "runs each step of a copy in Try",
	"internal/backup/archiving/keeper_bases.go: askForBase: go":     "waits for a snapshot of this process, and reads nothing",
	"internal/archive/archiver/drain.go: stopLimit: go":             "waits for two contexts, and reads nothing",
	"internal/cluster/members/await.go: await: go":                  "waits for an answer that another goroutine has read",
	"internal/seeder/following.go: run: go":                         "reads a file that the kubelet writes, and waits",
	"internal/seeder/catchup.go: catchUp: AfterFunc":                "ends a context",
	"internal/datadir/child.go: serve: go":                          "a process of its own for one data directory",
	"internal/dbcheck/child.go: serve: go":                          "a process of its own for one database",
	"internal/restoretest/child.go: Main: go":                       "a process of its own for one restore test",
	"internal/seeder/progress.go: serve: go":                        "a server, which recovers from a panic itself; the process serves one member",
	"internal/plugin/cli/session/confirm.go: line: go":              "the process of one user",
	"internal/plugin/cli/session/look.go: Looks: Go":                "the process of one user",
	"internal/plugin/cli/show/tail.go: Follow: Go":                  "the process of one user",
	"internal/etcd/watch/gather.go: begin: AfterFunc":               "sets an option of a socket, and reads nothing",
	"internal/etcd/ask/snapshot.go: watched: AfterFunc":             "ends a context",
	"internal/archive/follower/send.go: send: AfterFunc":            "ends a context",
	"internal/archive/standby/link.go: fetch: AfterFunc":            "ends a context",
	"internal/objstore/stall/stall.go: Do: AfterFunc":               "ends a context",
	"internal/objstore/progress.go: newProgress: AfterFunc":         "ends a context",
	"internal/seeder/takeover.go: reachesUnlessChanged: go":         "reads a file that the kubelet writes, and waits",
	"internal/objstore/s3/multipart.go: send: AfterFunc":            "ends a context",
	"internal/pace/meter.go: newMeter: AfterFunc":                   "compares two numbers, and ends a context",
	"internal/worker/worker.go: expect: AfterFunc":                  "starts waiting jobs, whose panics are caught",
	"internal/restore/read_limit.go: limitReading: AfterFunc":       "ends a context",
	"internal/backup/queue/time_limit.go: WithTimeLimit: AfterFunc": "ends a context",
}

// Without this test, a new goroutine reads an answer that somebody else chose, and a panic there ends the operator of all namespaces.
func TestEachGoroutineThatReadsWhatOthersSendSurvivesAPanic(t *testing.T) {
	root := filepath.Join("..", "..")
	found := map[string]bool{}
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || ofTests(t, path) {
				return err
			}
			name, err := filepath.Rel(root, path)
			for _, start := range bareStarts(t, path) {
				found[filepath.ToSlash(name)+": "+start] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, start := range slices.Sorted(maps.Keys(found)) {
		if bare[start] == "" {
			t.Errorf("%s: a panic of this goroutine ends the process. Start it with panics.Caught or panics.InGroup. If it reads nothing from outside, add it to bare with the reason", start)
		}
	}
	for start := range bare {
		if !found[start] {
			t.Errorf("%s is listed and does not exist", start)
		}
	}
}

// TestABareGoroutineIsFound shows that the test above sees each form.
func TestABareGoroutineIsFound(t *testing.T) {
	for body, want := range map[string]string{
		"go f()":                                      "x: go",
		"go func() {}()":                              "x: go",
		"go panics.Caught(f, g)()":                    "",
		"go func() { panics.Caught(f, g)() }()":       "x: go",
		"group.Go(f)":                                 "x: Go",
		"group.TryGo(f)":                              "x: TryGo",
		"group.Go(panics.InGroup(f))":                 "",
		"group.Go(panics.Caught(func() { f() }, g))":  "",
		"time.AfterFunc(second, f)":                   "x: AfterFunc",
		"context.AfterFunc(ctx, f)":                   "x: AfterFunc",
		"time.AfterFunc(second, panics.Caught(f, g))": "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc x() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(startsIn(file), ", "); got != want {
			t.Errorf("%s: found %q, want %q", body, got, want)
		}
	}
}

// ofTests returns whether a file belongs to tests only. No program imports testing.
func ofTests(t *testing.T, path string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
}

func bareStarts(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return startsIn(file)
}

// startsIn returns the function and the form of each bare start, with a number if the function has several.
func startsIn(file *ast.File) (all []string) {
	for _, declared := range file.Decls {
		function := ""
		if f, ok := declared.(*ast.FuncDecl); ok {
			function = f.Name.Name + ": "
		}
		for i, start := range startsOf(declared) {
			if i > 0 {
				start += " " + strconv.Itoa(i+1)
			}
			all = append(all, function+start)
		}
	}
	return all
}

func startsOf(declared ast.Decl) (starts []string) {
	ast.Inspect(declared, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			if !survives(node.Call.Fun) {
				starts = append(starts, "go")
			}
		case *ast.CallExpr:
			method, ok := node.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Go", "TryGo", "AfterFunc"}, method.Sel.Name) && !survives(node.Args[len(node.Args)-1]) {
				starts = append(starts, method.Sel.Name)
			}
		}
		return true
	})
	return starts
}

// survives returns whether a function is one of Caught or InGroup.
func survives(function ast.Expr) bool {
	call, ok := function.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	in, ok := name.X.(*ast.Ident)
	return ok && in.Name == "panics" && (name.Sel.Name == "Caught" || name.Sel.Name == "InGroup")
}
