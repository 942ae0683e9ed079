package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func TestTheReferenceListsAllMetricsReasonsEventsFlagsAndValues(t *testing.T) {
	want, err := page(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(root + "/docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference.md is out of date (-want +got), run make generate:\n%s", diff)
	}
}

// Metrics that are registered apart from the others were missing on the page.
func TestTheReferenceListsEachMetricOfTheSource(t *testing.T) {
	found, err := metrics()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range found {
		listed[m.name] = true
	}
	name := regexp.MustCompile(`"(etcd_operator_\w+)"`)
	err = filepath.WalkDir(filepath.Join(root, "internal"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range name.FindAllStringSubmatch(string(text), -1) {
			if !listed[match[1]] {
				t.Errorf("%s has the metric %s, which docs/reference.md does not list", path, match[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAMeaningBeginsWithACapitalUnlessItBeginsWithAName(t *testing.T) {
	for meaning, want := range map[string]string{
		"means that a member is down.":             "A member is down.",
		"means that spec.paused is true.":          "spec.paused is true.",
		"means that etcd refuses writes.":          "etcd refuses writes.",
		"means that cert-manager is missing.":      "cert-manager is missing.",
		"(EtcdBackup) means that a snapshot runs.": "EtcdBackup: a snapshot runs.",
	} {
		if got := sentence(meaning); got != want {
			t.Errorf("%q becomes %q, want %q", meaning, got, want)
		}
	}
}

func TestEveryMetricIsInTheSpaceOfTheSuite(t *testing.T) {
	found, err := metrics()
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 40 {
		t.Errorf("found %d metrics only", len(found))
	}
	for _, m := range found {
		if !strings.HasPrefix(m.name, "etcd_operator_") {
			t.Errorf("%s of %s has no prefix etcd_operator_, so it can be taken for one of etcd", m.name, m.operator)
		}
		if m.kind == "counter" != strings.HasSuffix(m.name, "_total") {
			t.Errorf("%s is a %s", m.name, m.kind)
		}
	}
}

func TestAValueWithoutACommentIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a value":                     "image:\n  # -- Tag of the images.\n  tag: a\n  registry: b\n",
		"an empty block":              "# -- Labels.\nlabels: {}\nannotations: {}\n",
		"a comment of another format": "# Level of the log.\nlevel: info\n",
	} {
		file := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := values(file); err == nil {
			t.Errorf("%s without a comment is accepted: %v", name, found)
		}
	}
}

func TestAValueThatDiffersBetweenOperatorsIsListedForEach(t *testing.T) {
	var found []value
	for _, block := range blocks {
		found = append(found, value{block + ".replicas", "1", "Replicas."}, value{block + ".memory", block, "Memory."})
	}
	want := []value{
		{"clusterOperator.memory", "clusterOperator", "Memory."},
		{"backupOperator.memory", "backupOperator", "Memory."},
		{"restoreOperator.memory", "restoreOperator", "Memory."},
		{"<operator>.replicas", "1", "Replicas."},
	}
	if diff := cmp.Diff(want, merged(found), cmp.AllowUnexported(value{})); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
