package readme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page promises a bound for each input that others control, and a test that sends more.
func TestEachBoundOfTheSecurityPageHasATest(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	for section, least := range map[string]int{"Bounds": 10, "Limits of what comes from outside": 8} {
		_, text, found := strings.Cut(string(page), "\n## "+section+"\n")
		if !found {
			t.Fatalf("the page has no section %s", section)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		rows := 0
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| input ") {
				continue
			}
			rows++
			cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
			match := try.FindStringSubmatch(strings.TrimPrefix(cells[len(cells)-1], "| ")) // the cell before it may be empty
			if match == nil {
				t.Errorf("%s: the row %q names no test", section, cells[0])
				continue
			}
			file, err := os.ReadFile(filepath.Join("../../docs", match[2]))
			if err != nil || !strings.Contains(string(file), "func "+match[1]+"(") || !strings.Contains(string(file), match[3]) {
				t.Errorf("%s has no test %s with %q: %v", match[2], match[1], match[3], err)
			}
		}
		if rows < least {
			t.Errorf("%s has %d rows, expected %d or more", section, rows, least)
		}
	}
}
