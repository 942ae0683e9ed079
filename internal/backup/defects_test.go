package backup

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestEveryDefectOfTheArchivedProjectHasItsTest(t *testing.T) {
	const root = "../.."
	table, err := os.ReadFile(filepath.Join(root, "docs", "defects.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\|.*\\| `([^`]+)` \\| (\\S+) \\|$").FindAllStringSubmatch(string(table), -1)
	if len(rows) < 15 {
		t.Fatalf("docs/defects.md has %d tests", len(rows))
	}
	for _, row := range rows {
		text, err := os.ReadFile(filepath.Join(root, row[2]))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(text), row[1]) {
			t.Errorf("%s has no test %q", row[2], row[1])
		}
	}
}
