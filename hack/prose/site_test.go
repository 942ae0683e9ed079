package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A page without a place in the menu of the site is not found by its readers. Decisions have a menu of their own.
func TestTheMenuOfTheSiteHasEveryPageOfTheManualOnce(t *testing.T) {
	var menu []struct {
		Title string   `json:"title"`
		Pages []string `json:"pages"`
	}
	if err := json.Unmarshal([]byte(content(t, "hack/site/menu.json")), &menu); err != nil {
		t.Fatal(err)
	}
	files, listed := markdownFiles(t), map[string]bool{}
	for _, section := range menu {
		for _, file := range section.Pages {
			if listed[file] {
				t.Errorf("the menu has %s twice", file)
			}
			if listed[file] = true; !slices.Contains(files, file) {
				t.Errorf("the menu has %s, which does not exist", file)
			}
		}
	}
	for _, file := range files {
		if (filepath.Dir(file) == "docs" || strings.HasPrefix(file, "charts/")) && !listed[file] {
			t.Errorf("hack/site/menu.json does not have %s", file)
		}
	}
}

// VitePress takes the title of a page from its first heading, and reads a header that GitHub would show.
func TestEveryPageOfTheManualBeginsWithItsTitle(t *testing.T) {
	comments := regexp.MustCompile(`(?s)^(\s*<!--.*?-->)*\s*`)
	for _, file := range markdownFiles(t) {
		if strings.HasPrefix(file, "docs/") && !strings.HasPrefix(comments.ReplaceAllString(content(t, file), ""), "# ") {
			t.Errorf("%s does not begin with a title (# ...)", file)
		}
	}
}

// The commands of README.md are run by a test, those of the home page are not.
func TestTheHomePageOfTheSiteHasTheCommandsOfTheReadme(t *testing.T) {
	readme := strings.ReplaceAll(content(t, "README.md"), "examples/etcdcluster.yaml ", "etcdcluster.yaml ")
	blocks := regexp.MustCompile("(?s)```\\w+\n(.*?)```").FindAllStringSubmatch(content(t, "hack/site/home.md"), -1)
	if len(blocks) < 3 {
		t.Fatalf("the home page has %d blocks of code", len(blocks))
	}
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			if !strings.Contains(readme, strings.TrimSpace(line)) {
				t.Errorf("README.md does not have the line: %s", line)
			}
		}
	}
}

func TestThePackagesOfTheSiteArePinnedByTheirChecksums(t *testing.T) {
	lock := content(t, "hack/site/package-lock.json")
	packages, sums := strings.Count(lock, "\n    \"node_modules/"), strings.Count(lock, "\n      \"integrity\": \"sha512-")
	if packages == 0 || packages != sums || strings.Contains(lock, `"resolved"`) {
		t.Errorf("%d packages, %d checksums; npm install --package-lock-only --omit-lockfile-registry-resolved writes the file", packages, sums)
	}
}

// The site shows no Mermaid, and GitHub shows no container of VitePress.
func TestPagesHaveOnlyWhatBothGitHubAndTheSiteShow(t *testing.T) {
	only := regexp.MustCompile("(?m)^(```mermaid|::: ?\\w+)")
	for _, file := range markdownFiles(t) {
		if !strings.HasPrefix(file, "docs/") && !strings.HasPrefix(file, "charts/") {
			continue
		}
		if found := only.FindString(content(t, file)); found != "" {
			t.Errorf("%s has %q: draw an SVG in docs/images, or write a callout (> [!WARNING])", file, found)
		}
	}
}
