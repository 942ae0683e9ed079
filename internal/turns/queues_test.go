package turns

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A place where something may wait for a slot. inTurns are those where namespaces take turns, with the first column of their row in the
// table of docs/security.md. alone are those that one object has for itself, or whose wait has a bound of seconds, and why.
var (
	inTurns = map[string]string{
		"internal/backup/queue/attempts.go: worker.NewLanes":                "workers for snapshots, restore tests, deletions and copies",
		"internal/backup/queue/tests.go: turns.NewGate":                     "restore tests",
		"internal/backup/queue/spool.go: spool.New":                         "the spool volume",
		"internal/backup/archiving/limits/places.go: turns.Order":           "places for archives, and as many for their copies",
		"internal/backup/archiving/memory.go: turns.NewBudget":              "memory for large changes of archives",
		"internal/backup/archiving/memory.go: turns.NewDividedBudget":       "memory that archives share",
		"internal/backup/archiving/memory.go: turns.NewGate":                "segments that are written",
		"internal/backup/archiving/copying/turns.go: turns.NewHalvedBudget": "memory for copies of archives",
		"internal/backup/archiving/copying/turns.go: turns.NewGate":         "memory for copies of archives",
		"internal/objstore/memory.go: turns.NewDividedBudget":               "names and manifests of stores",
		"internal/objstore/page.go: turns.NewGate":                          "pages of listings",
		"internal/restore/reconciler.go: worker.New":                        "workers for readings, safety snapshots and signed URLs",
		"internal/restore/replays.go: turns.NewGate":                        "replays of an archive",
		"internal/restore/spool.go: spool.New":                              "the spool volume",
		"internal/restore/spool.go: turns.NewGate":                          "processors that decode and check the snapshots of restores",
		"internal/restore/read_limit.go: turns.NewGate":                     "large pages of keys",
		"internal/restore/safety.go: spool.New":                             "the spool volume",
		"internal/kube/turns.go: MaxConcurrentReconciles":                   "passes of the operators",
		"internal/backup/setup.go: kube.Controller":                         "passes of the operators",
		"internal/restore/controller.go: kube.Controller":                   "passes of the operators",
		"internal/cluster/setup.go: kube.Controller":                        "passes of the operators",
		"internal/dbcheck/budget.go: turns.NewGate":                         "checks of databases",
		"internal/cluster/kubecache/pages.go: turns.NewGate":                "reads of many objects past the cache",
		"internal/cluster/secrets/ledger.go: turns.NewDividedBudget":        "memory for Secrets that cluster-operator keeps",
		"internal/kube/whole.go: turns.NewGate":                             "whole objects of a tenant that are decoded",
		"internal/cluster/observe/explain.go: turns.NewGate":                "reads of events for a message",
		"internal/cluster/queue/replacements.go: type Brake":                "replacements of lost members",
		"internal/worker/slots.go: turns.Order":                             "workers for snapshots, restore tests, deletions and copies",
		"internal/turns/gate.go: turns.Order":                               "restore tests",
		"internal/turns/budget.go: turns.Order":                             "memory for large changes of archives",
		"internal/spool/spool.go: turns.Order":                              "the spool volume",
	}
	alone = map[string]string{
		"internal/cluster/act/accounts.go: make(chan, n)":            "the passwords of one step of an EtcdCluster, for at most 15 s",
		"internal/etcd/accounts.go: SetLimit":                        "the users and roles of one EtcdCluster, for at most 15 s",
		"internal/objstore/each.go: make(chan, n)":                   "the requests of one listing",
		"internal/objstore/abs/put.go: SetLimit":                     "the parts of one object",
		"internal/objstore/abs/blocks.go: make(chan, n)":             "the buffers of one object",
		"internal/objstore/s3/multipart.go: SetLimit":                "the parts of one object",
		"internal/objstore/s3/parts.go: make(chan, n)":               "the buffers of one object",
		"internal/objstore/gcs/sign.go: make(chan, n)":               "the answer of one request",
		"internal/spool/namespace.go: make(chan, n)":                 "the answer to one request; the spool has turns",
		"internal/backup/clients/throttle.go: rate.NewLimiter":       "the bytes of one attempt",
		"internal/backup/archiving/archives.go: make(chan, n)":       "signals to one archiver, which asks for one snapshot at a time",
		"internal/backup/archiving/archiver.go: make(chan, n)":       "the answer to one archiver",
		"internal/backup/archiving/copying/copies.go: make(chan, n)": "signals to the copier of one archive",
		"internal/archive/follower/check.go: make(chan, n)":          "the judgement of one object",
		"internal/archive/finder.go: make(chan, n)":                  "the headers of one archive",
		"internal/etcd/watch/turn.go: make(chan, n)":                 "the answers of one request, which has room for each",
		"internal/archive/archiver/auth_bases.go: make(chan, n)":     "one base of an archiver",
		"internal/archive/archiver/run.go: make(chan, n)":            "one archiver",
		"internal/archive/archiver/leases.go: make(chan, n)":         "the leases of one archiver",
		"internal/archive/archiver/upload.go: make(chan, n)":         "the segments of one archiver",
		"internal/cluster/setup.go: make(chan, n)":                   "events of health checks, which the queue of passes takes",
		"internal/cluster/members/await.go: make(chan, n)":           "the members of one cluster",
		"internal/cluster/members/health_checks.go: SetLimit":        "a check ends after 3 s, and only starts a look earlier",
		"internal/cluster/dryrun/foresight.go: make(chan, n)":        "a dry run ends after 15 s and only advises; one that gets no place is begun in a later pass, and never waits",
		"internal/cluster/dryrun/foresight.go: rate.NewLimiter":      "the same",
		"internal/cluster/secrets/judge.go: rate.NewLimiter":         "a look that gets no token uses the cache, and never waits",
		"internal/archive/archiver/ahead.go: make(chan, n)":          "the answer of one request, which has room for it",
	}
)

// Without this test, a new queue is first come, first served, and one namespace that stalls delays all others.
func TestEachQueueOfTheOperatorsHasTurns(t *testing.T) {
	root := filepath.Join("..", "..")
	found := map[string]bool{}
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || ofNoOperator(path) {
				return err
			}
			name, err := filepath.Rel(root, path)
			for _, queue := range queuesOf(t, path) {
				found[filepath.ToSlash(name)+": "+queue] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, queue := range slices.Sorted(maps.Keys(found)) {
		if inTurns[queue] == "" && alone[queue] == "" {
			t.Errorf("%s: something may wait for a slot there. Build it on turns.Order, turns.Gate, worker.Pool or spool.Spool with its namespace, and add it to inTurns. If it belongs to one object, add it to alone", queue)
		}
	}
	for _, queue := range append(slices.Collect(maps.Keys(inTurns)), slices.Collect(maps.Keys(alone))...) {
		if !found[queue] {
			t.Errorf("%s is listed and does not exist", queue)
		}
	}
}

// TestTheManualListsEachQueue compares the table of docs/security.md.
func TestTheManualListsEachQueue(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range inTurns {
		if !strings.Contains(string(page), "\n| "+row+" | ") {
			t.Errorf("docs/security.md has no row %q", row)
		}
	}
}

// ofNoOperator returns whether a file belongs to a test or to the plugin.
func ofNoOperator(path string) bool {
	path = filepath.ToSlash(path)
	return strings.Contains(path, "/internal/plugin/") || strings.Contains(path, "/cmd/kubectl-etcd/") || strings.Contains(path, "/internal/objstore/objstoretest/") ||
		strings.Contains(path, "/dbfiletest/") || strings.Contains(path, "/attempttest/")
}

// queuesOf returns what in a file lets something wait for a slot.
func queuesOf(t *testing.T, path string) (queues []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, declared := range file.Decls {
		if g, ok := declared.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && isMutex(v.Type) {
					queues = append(queues, "package-level "+nameOf(v.Type))
				}
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if queue := queueOf(node, file.Name.Name); queue != "" {
			queues = append(queues, queue)
		}
		return true
	})
	return queues
}

func isMutex(of ast.Expr) bool { return nameOf(of) == "sync.Mutex" || nameOf(of) == "sync.RWMutex" }

// constructors are calls that make a queue.
var constructors = []string{"worker.New", "worker.NewLanes", "turns.NewGate", "turns.NewBudget", "turns.NewHalvedBudget", "turns.NewDividedBudget", "spool.New", "rate.NewLimiter", "sync.NewCond", "semaphore.NewWeighted", "kube.Controller"}

func queueOf(node ast.Node, inPackage string) string {
	switch node := node.(type) {
	case *ast.CallExpr:
		name := nameOf(node.Fun)
		switch {
		case name == "make" && len(node.Args) == 2 && isChan(node.Args[0]):
			return "make(chan, n)"
		case slices.Contains(constructors, name):
			return name
		case strings.HasSuffix(name, ".SetLimit"):
			return "SetLimit"
		}
	case *ast.KeyValueExpr:
		if nameOf(node.Key) == "MaxConcurrentReconciles" {
			return "MaxConcurrentReconciles"
		}
	case *ast.TypeSpec:
		if limited, is := node.Type.(*ast.StructType); is && limitsMany(limited) {
			return "type " + node.Name.Name
		}
	case *ast.Field:
		name := nameOf(node.Type)
		if inPackage == "turns" && name == "Order" {
			name = "turns.Order"
		}
		if name == "turns.Order" && len(node.Names) > 0 && node.Names[0].Name != "o" || name == "sync.Cond" || name == "semaphore.Weighted" {
			return name
		}
	}
	return ""
}

// limitsMany returns whether a type keeps objects of many owners under a lock, with a limit for all of them: who is above the limit waits.
func limitsMany(of *ast.StructType) bool {
	locked, limited, many := false, false, false
	for _, field := range of.Fields.List {
		_, isMap := field.Type.(*ast.MapType)
		locked, many = locked || isMutex(field.Type), many || isMap
		for _, name := range field.Names {
			lower := strings.ToLower(name.Name)
			limited = limited || nameOf(field.Type) == "int" && (strings.Contains(lower, "limit") || strings.Contains(lower, "max") || strings.Contains(lower, "slots") || strings.HasPrefix(lower, "per"))
		}
	}
	return locked && limited && many
}

func isChan(of ast.Expr) bool { _, is := of.(*ast.ChanType); return is }

// nameOf returns a name as it is written, without type arguments and stars.
func nameOf(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return fmt.Sprintf("%s.%s", nameOf(of.X), of.Sel.Name)
	case *ast.IndexExpr:
		return nameOf(of.X)
	case *ast.StarExpr:
		return nameOf(of.X)
	case *ast.MapType:
		return nameOf(of.Value)
	}
	return ""
}
