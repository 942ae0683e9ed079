package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// try is the last cell of a row: the test, its file, and the case in it.
var try = regexp.MustCompile("^\\[(Test\\w+)\\]\\((\\.\\./\\S+_test\\.go)\\)(?:: `(.+)`)?$")

// The page promises that each try is refused by a test that exists.
func TestEachTryOfTheSecurityPageIsATest(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## What was tried\n")
	if !found {
		t.Fatal("the page has no section about what was tried")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	const header, least = 2, 40
	rows := strings.Count(section, "\n|") - header
	if rows < least {
		t.Errorf("the page has %d tries, expected %d or more", rows, least)
	}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 4 || cells[0] == " who" {
			continue
		}
		match := try.FindStringSubmatch(strings.TrimSpace(cells[3]))
		if match == nil {
			t.Errorf("the row %q names no test", cells)
			continue
		}
		file, err := os.ReadFile(filepath.Join("../../docs", match[2]))
		if err != nil || !strings.Contains(string(file), "func "+match[1]+"(") || !strings.Contains(string(file), match[3]) {
			t.Errorf("%s has no test %s with %q: %v", match[2], match[1], match[3], err)
		}
	}
}
