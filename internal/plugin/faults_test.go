package plugin

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/plugin/findings"
	"github.com/etcd-suite/etcd-operator/internal/plugin/plugintest"
)

// foreign are screens whose first line the plugin or Kubernetes has written, or has too few words of an operator.
const foreign = "healthy no-backup plain-text shared-ca never-seen old-status backup-late spec-not-read upgrading member-down member-down-by-its-image " +
	"alarm-from-a-member image-unavailable crash-loop unschedulable"

// Five words in a row of each message must be in the operators, so that the screens show what they write today.
func TestMessagesOfTheScreensAreThoseOfTheOperators(t *testing.T) {
	sources := operators(t)
	for name, change := range plugintest.Faults {
		if slices.Contains(strings.Fields(foreign), name) {
			continue
		}
		objects := plugintest.Healthy()
		change(&objects)
		problem, found := findings.Inspect(objects).Findings[0].Problem, false
		for words := strings.Fields(problem); len(words) >= 5 && !found; words = words[1:] {
			found = strings.Contains(sources, strings.Join(words[:5], " "))
		}
		if !found {
			t.Errorf("%s: no operator writes %q", name, problem)
		}
	}
}

// operators returns the code of the operators without its tests.
func operators(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && entry.Name() == "plugin" {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		text.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}
