package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// A link that leads nowhere leaves a reader without the way out that an error message names.
func TestEveryLinkOfTheManualLeadsToAPageAndAHeading(t *testing.T) {
	out := filepath.Join(t.TempDir(), "site")
	pages, err := build(root, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSite(out); err != nil {
		t.Error(err)
	}
	if pages < 50 {
		t.Errorf("the site has %d pages", pages)
	}
}

// A page that is in no menu is read by nobody.
func TestTheMenuHasEveryPageOfTheManual(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	listed, err := sources(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := "docs/" + filepath.Base(file); !strings.Contains(strings.Join(listed, "\n")+"\n", name+"\n") {
			t.Errorf("the menu does not have %s", name)
		}
	}
}

func TestABrokenLinkIsReported(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"a file that does not exist":    {"# A\n[b](b.md)\n", "does not exist"},
		"a heading that does not exist": {"# A\n[b](a.md#b)\n", "no such heading"},
		"a heading of this page":        {"# A\n[b](#a)\n", ""},
		"a heading that exists twice":   {"# A\n## B\n## B\n[b](a.md#b-1)\n", ""},
		"another site":                  {"# A\n[b](https://example.com)\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			from, out := t.TempDir(), t.TempDir()
			if err := os.MkdirAll(filepath.Join(from, "docs"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(from, "docs/a.md"), []byte(test.source), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := render(from, "docs/a.md")
			if err == nil {
				if err = write(out, p.Target, p.Body); err == nil {
					err = checkSite(out)
				}
			}
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// The search reads the text of all headings. What it lacks nobody finds.
func TestTheSearchHasTheTextOfEachHeading(t *testing.T) {
	out := filepath.Join(t.TempDir(), "site")
	if _, err := build(root, out); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(out, "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"quorumlost", "Disaster recovery", "etcd_operator_", "maxLag", "kubectl etcd hibernate"} {
		if !strings.Contains(strings.ToLower(string(index)), strings.ToLower(text)) {
			t.Errorf("the index does not have %q", text)
		}
	}
}

func TestADirectoryWithOtherFilesIsNotReplaced(t *testing.T) {
	out := t.TempDir()
	file := filepath.Join(out, "mine.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := build(root, out); err == nil {
		t.Error("the directory was replaced")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
