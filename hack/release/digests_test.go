package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Who can push to the registry overwrote the tag of a release, and each new Pod ran that image.
func TestTheReleasedChartSelectsItsImagesByDigest(t *testing.T) {
	r, files := rendered(t)
	digests, err := r.digests()
	if err != nil || len(digests) != len(operators) {
		t.Fatal(digests, err)
	}
	template := func(values ...string) string {
		t.Helper()
		args := []string{"template", releaseName, r.path(r.chartFile())}
		for _, value := range values {
			args = append(args, "--set", value)
		}
		out, err := exec.CommandContext(t.Context(), program(t, "helm"), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	ownDigest := "sha256:" + strings.Repeat("1", 64)
	for name, test := range map[string]struct {
		values []string
		want   string // of cluster-operator
	}{
		"without values":           {nil, "ghcr.io/etcd-suite/cluster-operator@" + digests["cluster-operator"]},
		"in a mirror":              {[]string{"image.registry=mirror.example.com"}, "mirror.example.com/etcd-suite/cluster-operator@" + digests["cluster-operator"]},
		"a tag of all images":      {[]string{"image.tag=mine"}, "ghcr.io/etcd-suite/cluster-operator:mine"},
		"a tag of this image":      {[]string{"clusterOperator.image.tag=mine"}, "ghcr.io/etcd-suite/cluster-operator:mine"},
		"a digest of this image":   {[]string{"clusterOperator.image.digest=" + ownDigest, "image.tag=mine"}, "ghcr.io/etcd-suite/cluster-operator@" + ownDigest},
		"another image by its tag": {[]string{"clusterOperator.image.repository=me/operator"}, "ghcr.io/me/operator:" + r.version},
	} {
		if out := template(test.values...); !strings.Contains(out, "image: \""+test.want+"\"") {
			t.Errorf("%s: the chart does not select %s", name, test.want)
		}
	}
	for name, seed := range map[string]string{"the seed": template(), "install.yaml": files["install.yaml"]} {
		for _, line := range strings.Split(seed, "\n") {
			if strings.Contains(line, "ghcr.io/etcd-suite/") && !strings.Contains(line, "@sha256:") {
				t.Errorf("%s selects an image by its tag: %s", name, line)
			}
		}
		if want := "--seed-image=ghcr.io/etcd-suite/restore-operator@" + digests["restore-operator"]; !strings.Contains(seed, want) {
			t.Errorf("%s does not have %s", name, want)
		}
	}
}

// A directory with files of two builds was pushed, and its chart selected images that the registry did not get.
func TestAChartOfOtherImagesIsNotPushed(t *testing.T) {
	r, _ := rendered(t)
	if err := r.checkDigests(); err != nil {
		t.Fatal(err)
	}
	one, other := r.path(r.archive(operators[0])), r.path(r.archive(operators[1]))
	if err := os.Rename(other, one); err != nil {
		t.Fatal(err)
	}
	writeImage(t, other)
	if err := r.checkDigests(); err == nil || !strings.Contains(err.Error(), "build the release again") {
		t.Errorf("error %v", err)
	}
}
