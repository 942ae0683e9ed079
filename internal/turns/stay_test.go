package turns

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// staying are the second queues in which a job keeps its worker, and why.
var staying = map[string]string{
	"internal/restore/spool.go":      "a turn of a processor takes seconds",
	"internal/restore/read_limit.go": "a turn takes 30 s, and what waits holds a large key: only a few workers may",
	"internal/kube/whole.go":         "a turn reads one object of the API server",
	"internal/objstore/page.go":      "a turn decodes one page, which takes a second at most",
}

// A job that keeps its worker while it waits in a second queue keeps the jobs of other namespaces from it. Gates, budgets and the spool leave the
// worker, so only a call of Stay keeps it.
func TestJobsLeaveTheirWorkerInEachSecondQueue(t *testing.T) {
	root, found := filepath.Join("..", ".."), []string{}
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if name, _ := filepath.Rel(root, path); slices.Contains(selected(t, path), "Stay") {
			found = append(found, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if staying[name] == "" {
			t.Errorf("%s keeps the worker of a job that waits. Leave it, or add the file to staying if the wait takes seconds", name)
		}
	}
	if len(found) != len(staying) {
		t.Errorf("%q keep the worker, and %d are listed", found, len(staying))
	}
	for path, leaves := range map[string]string{"gate.go": "defer Leave(ctx)()", "budget.go": "defer LeaveForMany(ctx)()", "../spool/queue.go": "turns.LeaveForMany"} {
		if content, err := os.ReadFile(path); err != nil || !strings.Contains(string(content), leaves) {
			t.Errorf("%s does not leave the worker of a job that waits", path)
		}
	}
}
