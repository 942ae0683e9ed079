package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// fence is a block of code, in which a # begins a comment and not a heading.
	fence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

func TestRelativeLinksAndAnchorsResolve(t *testing.T) {
	for _, file := range markdownFiles(t) {
		for _, match := range link.FindAllStringSubmatch(content(t, file), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(match[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, match[1])
			} else if anchor != "" && !slices.Contains(anchors(content(t, target)), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", file, match[1], target)
			}
		}
	}
}

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	got := anchors("# A `spec` field, or two\n\n## Now\n\n```sh\n# no heading\n```\n\n## Now\n")
	if want := []string{"a-spec-field-or-two", "now", "now-1"}; !slices.Equal(got, want) {
		t.Errorf("anchors %q, want %q", got, want)
	}
}

// The numbers have no gap: one that was never used is listed as such.
func TestTheIndexOfDecisionsHasEveryNumberInOrder(t *testing.T) {
	const folder = "docs/adr"
	var listed []string
	for i, row := range regexp.MustCompile(`(?m)^\| (\d{4}) \| (.*?) \|`).FindAllStringSubmatch(content(t, folder+"/README.md"), -1) {
		if want := fmt.Sprintf("%04d", i+1); row[1] != want {
			t.Fatalf("docs/adr/README.md lists %s where %s belongs", row[1], want)
		}
		if match := link.FindStringSubmatch(row[2]); match != nil {
			if !strings.HasPrefix(match[1], row[1]+"-") {
				t.Errorf("docs/adr/README.md links number %s to %s", row[1], match[1])
			}
			listed = append(listed, filepath.Join(folder, match[1]))
		}
	}
	for _, file := range markdownFiles(t) {
		if filepath.Dir(file) == folder && filepath.Base(file) != "README.md" && !slices.Contains(listed, file) {
			t.Errorf("docs/adr/README.md does not list %s", file)
		}
	}
}

// anchors of the headings of a Markdown file, as GitHub makes them.
func anchors(text string) []string {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	var found []string
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		anchor := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")
		unique := anchor
		for i := 1; slices.Contains(found, unique); i++ {
			unique = fmt.Sprintf("%s-%d", anchor, i)
		}
		found = append(found, unique)
	}
	return found
}

// markdownFiles of the project, relative to its root.
func markdownFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "dist", "testdata", "node_modules", "pages"}, entry.Name())) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			file, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
