package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var commit = time.Unix(1790000000, 0).UTC()

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil { // as run does
		log.Fatal(err)
	}
	m.Run()
}

// program returns the path of a program in TEST_BIN, which make chart sets.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(os.Getenv("TEST_BIN"), name)
	if _, err := os.Stat(path); err != nil || os.Getenv("TEST_BIN") == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("TEST_BIN does not contain %s: run make chart", name)
		}
		t.Skipf("TEST_BIN does not contain %s: run make chart", name)
	}
	return path
}

// rendered makes all of a release but the programs, from images of a few bytes, and returns its files by their names.
func rendered(t *testing.T) (release, map[string]string) {
	t.Helper()
	t.Setenv("HELM_CACHE_HOME", t.TempDir())
	t.Setenv("HELM_CONFIG_HOME", t.TempDir())
	t.Setenv("HELM_DATA_HOME", t.TempDir())
	version, err := chartVersion("charts/etcd-operator/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, opts := release{version: version, dir: t.TempDir(), time: commit}, options{helm: program(t, "helm")}
	for _, operator := range operators {
		writeImage(t, r.path(r.archive(operator)))
	}
	for _, step := range []func(context.Context, options) error{r.charts, r.manifests} {
		if err := step(t.Context(), opts); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), "-image.tar") {
			continue
		}
		content, err := os.ReadFile(r.path(entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[strings.ReplaceAll(entry.Name(), version, "V")] = string(content)
	}
	return r, files
}
