package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

func workflows(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(paths) < 2 {
		t.Fatalf("found the workflows %v, error %v", paths, err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = string(raw)
	}
	return texts
}

func TestWorkflowsAreValid(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range workflows(t) {
		problems, err := linter.Lint(name, []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Error(p)
		}
	}
}

// A tag of an action can be moved to other code, and that code would see the token of the workflow.
func TestActionsArePinnedByCommit(t *testing.T) {
	uses := regexp.MustCompile(`(?m)^\s*-? ?uses: (.*)$`)
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	found := 0
	for name, text := range workflows(t) {
		for _, match := range uses.FindAllStringSubmatch(text, -1) {
			found++
			if !pinned.MatchString(match[1]) {
				t.Errorf("%s uses %s, which is not pinned by a commit and its version", name, match[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("%d actions were found, so the test tested too little", found)
	}
}

func TestWorkflowsRunTheTargetsThatDevelopersRun(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	texts := workflows(t)
	for _, want := range []struct{ file, text string }{
		{"ci.yml", "pull_request:"}, {"ci.yml", ".ci/run"}, {"ci.yml", "make release-twice"},
		{"release.yml", `tags: ["v*"]`}, {"release.yml", "make release TAG="}, {"release.yml", "make push REGISTRY="},
		{"release.yml", "cosign sign --yes"}, {"release.yml", "actions/attest-build-provenance@"}, {"release.yml", "dist/release/*"},
	} {
		if !strings.Contains(texts[want.file], want.text) {
			t.Errorf("%s lacks %q", want.file, want.text)
		}
	}
	for name, text := range texts {
		for _, match := range regexp.MustCompile(`\bmake ([a-z-]+)`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(string(makefile), "\n"+match[1]+":") {
				t.Errorf("%s runs make %s, which does not exist", name, match[1])
			}
		}
	}
}
