package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNotesAreTheSectionOfTheVersion(t *testing.T) {
	const changelog = "# Changelog\n\n## Unreleased\n\nSoon.\n\n## 1.1.0 (2026-11-22)\n\n### EtcdCluster\n\n- Now.\n\n## 1.0.0\n\n- Before.\n"
	for name, test := range map[string]struct{ version, tag, want, refusal string }{
		"a tagged version":                    {version: "1.1.0", tag: "v1.1.0", want: "# etcd operator suite 1.1.0\n\n### EtcdCluster\n\n- Now.\n"},
		"the last section":                    {version: "1.0.0", want: "# etcd operator suite 1.0.0\n\n- Before.\n"},
		"a build of what is not released":     {version: "1.2.0", want: "# etcd operator suite 1.2.0\n\nSoon.\n"},
		"a tag without a section":             {version: "1.2.0", tag: "v1.2.0", refusal: "CHANGELOG.md has no section ## 1.2.0: rename Unreleased"},
		"a tag of another version":            {version: "1.1.0", tag: "v1.2.0", refusal: "the tag is v1.2.0, but the chart has version 1.1.0"},
		"a version that begins like another":  {version: "1.1", tag: "v1.1", refusal: "has no section"},
		"a dot that must not match any sign":  {version: "1x1.0", tag: "v1x1.0", refusal: "has no section"},
		"a tag that lacks the v of its rules": {version: "1.1.0", tag: "1.1.0", refusal: "the tag is 1.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := notes(changelog, test.version, test.tag)
			if test.refusal != "" {
				if err == nil || !strings.Contains(err.Error(), test.refusal) {
					t.Fatalf("error %v, want %q", err, test.refusal)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("notes %q, want %q, error %v", got, test.want, err)
			}
		})
	}
}

// A reader of the release page follows a link of a feature to its page, as it was in that release.
func TestLinksOfTheNotesLeadToThePagesOfTheRelease(t *testing.T) {
	const changelog = "## 1.1.0\n\n- Saves ([how](docs/backup.md#on-demand-backup), [more](https://example.com/a.md)). See [README](README.md).\n"
	for tag, pages := range map[string]string{"v1.1.0": repositoryURL + "/blob/v1.1.0/", "": repositoryURL + "/blob/main/"} {
		got, err := notes(changelog, "1.1.0", tag)
		want := "- Saves ([how](" + pages + "docs/backup.md#on-demand-backup), [more](https://example.com/a.md)). See [README](" + pages + "README.md).\n"
		if err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("tag %q: notes %q, want %q, error %v", tag, got, want, err)
		}
	}
}

func TestChartAndSuiteHaveOneVersion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "Chart.yaml")
	if err := os.WriteFile(file, []byte("version: 1.0.0\nappVersion: \"1.0.1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := chartVersion(file); err == nil || !strings.Contains(err.Error(), "a release has one version") {
		t.Errorf("error %v", err)
	}
}

func TestChecksumsAreReadBySha256sum(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := checksums(dir)
	want := "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
	if err != nil || got != want {
		t.Errorf("sums %q, error %v", got, err)
	}
}

func TestAProgramOfAnotherVersionIsNotReleased(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 1.0.0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (release{version: "1.0.0"}).checkVersion(t.Context(), program); err != nil {
		t.Error(err)
	}
	if err := (release{version: "1.0.1"}).checkVersion(t.Context(), program); err == nil || !strings.Contains(err.Error(), `reports version "1.0.0", but the release is 1.0.1`) {
		t.Errorf("error %v", err)
	}
}

// Helm writes the files of a chart with the current time, and in an order of its own.
func TestTheChartDoesNotDependOnTimeAndOrder(t *testing.T) {
	build := func(at int64, names ...string) []byte {
		var out bytes.Buffer
		zipped := gzip.NewWriter(&out)
		archive := tar.NewWriter(zipped)
		for _, name := range names {
			header := &tar.Header{Name: name, Mode: 0o644, Size: 1, ModTime: commit.Add(time.Duration(at) * time.Hour)}
			if err := archive.WriteHeader(header); err != nil {
				t.Fatal(err)
			}
			if _, err := archive.Write([]byte{'x'}); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = archive.Close(), zipped.Close()
		packed, err := repack(out.Bytes(), commit)
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}
	one := build(1, "c/values.yaml", "c/Chart.yaml", "c/a.yaml", "c/charts/sub/Chart.yaml")
	two := build(9, "c/charts/sub/Chart.yaml", "c/a.yaml", "c/Chart.yaml", "c/values.yaml")
	if !bytes.Equal(one, two) {
		t.Error("two archives of the same files differ")
	}
	zipped, err := gzip.NewReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	first, err := tar.NewReader(zipped).Next()
	if err != nil || first.Name != "c/Chart.yaml" || !first.ModTime.Equal(commit) {
		t.Errorf("the first file is %+v, error %v", first, err)
	}
	if _, err := io.ReadAll(zipped); err != nil {
		t.Error(err)
	}
}

func TestTheSameCommitGivesTheSameFiles(t *testing.T) {
	_, one := rendered(t)
	_, two := rendered(t)
	if len(one) != 10 {
		t.Errorf("%d files, want two charts, install.yaml, crds.yaml, three schemas, kustomizeconfig.yaml, a Kustomize base and a bundle", len(one))
	}
	for name := range one {
		if one[name] != two[name] {
			t.Errorf("two builds of %s differ", name)
		}
	}
}
