package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// commands returns the lines of all Markdown files, examples and notes of Helm that match, as "file: line".
func commands(t *testing.T, pattern string) []string {
	t.Helper()
	files := markdownFiles(t)
	for _, glob := range []string{"examples/*", "charts/*/templates/NOTES.txt", "charts/*/values.yaml"} {
		paths, err := filepath.Glob(filepath.Join(root, glob))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				files = append(files, strings.TrimPrefix(path, root+"/"))
			}
		}
	}
	var found []string
	for _, file := range files {
		for _, line := range strings.Split(content(t, file), "\n") {
			if regexp.MustCompile(pattern).MatchString(line) {
				found = append(found, file+": "+strings.TrimSpace(line))
			}
		}
	}
	return found
}

// Without it kubectl wait ends after 30 s, which is too early for a cluster of three members.
func TestEveryKubectlWaitHasATimeout(t *testing.T) {
	found := commands(t, `\bkubectl\b.* (wait|rollout status) `)
	if len(found) < 8 {
		t.Fatalf("only %d commands were found, so the test tested too little: %q", len(found), found)
	}
	for _, line := range found {
		if !strings.Contains(line, "--timeout=") {
			t.Errorf("no --timeout: %s", line)
		}
	}
}

// A user who copies commands from two pages must not get two releases.
func TestTheReleaseAndItsNamespaceHaveOneName(t *testing.T) {
	release := regexp.MustCompile(`helm (upgrade --install|install|upgrade|uninstall|template|rollback|get values|history) ([^\s` + "`" + `]+)(.*)`)
	found := commands(t, release.String())
	if len(found) < 5 {
		t.Fatalf("only %d commands were found, so the test tested too little: %q", len(found), found)
	}
	for _, line := range found {
		match := release.FindStringSubmatch(line)
		if !strings.Contains(match[2], "etcd") && !strings.Contains(match[3], "charts/etcd-operator") {
			continue // a sentence about the command
		}
		if match[2] != "etcd-operator" || strings.Contains(match[3], "namespace") && !strings.Contains(match[3], "--namespace etcd-operator") {
			t.Errorf("another release or namespace than etcd-operator: %s", line)
		}
		if strings.Contains(match[3], "charts/etcd-operator") && !strings.Contains(match[3], "--namespace etcd-operator") {
			t.Errorf("no --namespace etcd-operator: %s", line)
		}
	}
	if found := commands(t, `etcd-system|helm .*( -n )`); len(found) > 0 {
		t.Errorf("another namespace: %q", found)
	}
}

func TestFilesThatCommandsNameExist(t *testing.T) {
	named := regexp.MustCompile(`(?:^|[\s"(` + "`" + `])((?:examples|charts|hack)/[\w./-]+[\w])`)
	checked := 0
	for _, line := range commands(t, named.String()) {
		file, text, _ := strings.Cut(line, ": ")
		if file == "CHANGELOG.md" || strings.HasPrefix(file, "docs/adr/") {
			continue // they report what was
		}
		for _, match := range named.FindAllStringSubmatch(" "+text, -1) {
			checked++
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", file, match[1])
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d names were found, so the test tested too little", checked)
	}
}
