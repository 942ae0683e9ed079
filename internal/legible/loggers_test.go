package legible_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A logger that writes past legible.Log shows names of objects as they are, so that they can erase lines on the terminal of an administrator.
func TestEachLoggerOfAProgramWritesLegibleLines(t *testing.T) {
	for _, root := range []string{"../../internal", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "dbfile/") {
				return err
			}
			source, err := os.ReadFile(path)
			for line := range strings.Lines(string(source)) {
				if strings.Contains(line, "zap.New(") && !strings.Contains(line, "legible.Log(") {
					t.Errorf("%s: %s", path, strings.TrimSpace(line))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
