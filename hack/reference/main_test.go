package main

import (
	"os"
	"path/filepath"
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
