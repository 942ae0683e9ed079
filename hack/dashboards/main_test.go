package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const folder = "../../charts/etcd-operator/files/dashboards"

// strictly reads a dashboard as Grafana's schema has it: no unknown field, and none that has another type or is missing.
func strictly(content []byte) error {
	plugins.RegisterDefaultPlugins()
	var d dashboard.Dashboard
	var problems cog.BuildErrors // the library returns an empty list if there is none
	if err := d.UnmarshalJSONStrict(content); err != nil && (!errors.As(err, &problems) || len(problems) > 0) {
		return err
	}
	return d.Validate()
}

// Otherwise a user changes a dashboard that the next make generate changes back.
func TestTheDashboardsOfTheChartAreThoseOfThisProgram(t *testing.T) {
	paths, err := filepath.Glob(folder + "/*.json")
	if err != nil || len(paths) != len(boards()) {
		t.Fatalf("the chart has the dashboards %v, error %v", paths, err)
	}
	for name, b := range boards() {
		made, err := b.build()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := encode(made)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date (error %v): run make generate", name, err)
		}
	}
}

// Otherwise Grafana ignores an option, or shows an error in place of a panel.
func TestTheDashboardsFollowTheSchemaOfGrafana(t *testing.T) {
	for name := range boards() {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := strictly(content); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, wrong := range []struct{ from, to string }{
			{`"graphMode":`, `"graphMod":`}, {`"noValue": "`, `"noValue": 1, "x": "`}, {`"type": "row"`, `"type": "row", "colapsed": true`},
		} {
			if err := strictly([]byte(strings.Replace(string(content), wrong.from, wrong.to, 1))); err == nil {
				t.Errorf("%s with %s is accepted", name, wrong.to)
			}
		}
	}
}
