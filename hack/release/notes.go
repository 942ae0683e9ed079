package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// chartVersion returns the version of the chart, which is that of the suite.
func chartVersion(file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	var chart struct {
		Version    string `json:"version"`
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(raw, &chart); err != nil {
		return "", fmt.Errorf("read the version in %s: %w", file, err)
	}
	if chart.Version == "" || chart.Version != chart.AppVersion {
		return "", fmt.Errorf("%s has version %q and appVersion %q: a release has one version, so write the same in both", file, chart.Version, chart.AppVersion)
	}
	return chart.Version, nil
}

// fileLink is a link of the changelog to a page of the repository. A page of releases has no such file.
var fileLink = regexp.MustCompile(`\]\(([^):]+\.md)`)

// notes returns the section of the changelog about the version. Without a tag the section "Unreleased" will do. Its links lead to
// the pages of the tag, or of the main branch.
func notes(changelog, version, tag string) (string, error) {
	if tag != "" && tag != "v"+version {
		return "", fmt.Errorf("the tag is %s, but the chart has version %s: set version and appVersion in Chart.yaml", tag, version)
	}
	text, found := section(changelog, version)
	if !found && tag == "" {
		text, found = section(changelog, "Unreleased")
	}
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no section ## %s: rename Unreleased", version)
	}
	pages := repositoryURL + "/blob/" + cmp.Or(tag, "main") + "/"
	text = fileLink.ReplaceAllString(text, "]("+pages+"$1")
	return fmt.Sprintf("# etcd operator suite %s\n\n%s\n", version, text), nil
}

func section(changelog, title string) (string, bool) {
	begin := regexp.MustCompile(`(?m)^## \[?` + regexp.QuoteMeta(title) + `\]?( .*)?$`).FindStringIndex(changelog)
	if begin == nil {
		return "", false
	}
	text, _, _ := strings.Cut(changelog[begin[1]:], "\n## ")
	return strings.TrimSpace(text), true
}

// checksums returns the SHA-256 sums of all files in a directory in the format of sha256sum, sorted by name.
func checksums(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("compute checksums: %w", err)
	}
	var sums strings.Builder
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", fmt.Errorf("compute the checksum of %s: %w", entry.Name(), err)
		}
		sum := sha256.Sum256(content)
		fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), entry.Name())
	}
	return sums.String(), nil
}
