package readme

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// chartVersion is the version of the chart and of its images, which is in one place.
func chartVersion(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../charts/etcd-operator/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^version: (\S+)$`).FindStringSubmatch(string(raw))
	if match == nil {
		t.Fatal("Chart.yaml has no version")
	}
	return match[1]
}

// ofRelease are the places at which a page names a version of the suite: flags, addresses, names of files, and tags of images.
var ofRelease = regexp.MustCompile(`(?:--version |/download/v|/tags/v|etcd-operator-|kubectl-etcd-|operator:|etcd-cluster:|\$operator-|\$operator:|\$image:|Version )(\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?)`)

// A reader copies the version from the page. After the next release, an old one would install old operators with new documentation, and
// one that was never released would install nothing.
func TestPagesNameTheVersionOfTheChart(t *testing.T) {
	version := chartVersion(t)
	for file, least := range map[string]int{
		"../../README.md": 4, "../../charts/etcd-cluster/README.md": 2, "../../charts/etcd-operator/README.md": 2, "../../docs/install.md": 12, "../../docs/kubectl-etcd.md": 1,
		"../../docs/production.md": 1, "../../docs/gitops.md": 2, "../../hack/site/home.md": 2,
	} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := ofRelease.FindAllStringSubmatch(string(page), -1)
		for _, match := range found {
			if match[1] != version {
				t.Errorf("%s has %q, but the chart has version %s", file, match[0], version)
			}
		}
		if len(found) < least {
			t.Errorf("%s names the version %d times, want %d: the expression of this test reads too little", file, len(found), least)
		}
	}
}

// A release that does not exist must be said to: otherwise the first command that a new user copies fails with "not found".
func TestPagesSayWhetherTheVersionIsReleased(t *testing.T) {
	version := chartVersion(t)
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	released := strings.Contains(string(changelog), "\n## "+version+" (")
	for _, file := range []string{
		"../../README.md", "../../charts/etcd-cluster/README.md", "../../charts/etcd-operator/README.md", "../../docs/install.md", "../../docs/kubectl-etcd.md", "../../hack/site/home.md",
	} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if says := strings.Contains(string(page), "Version "+version+" is not released yet."); says == released {
			t.Errorf("%s says that version %s is not released: %t, but CHANGELOG.md has a section for it: %t", file, version, says, released)
		}
	}
}
