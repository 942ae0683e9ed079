package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func TestTheReferenceListsAllMetricsReasonsEventsAndFlags(t *testing.T) {
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
