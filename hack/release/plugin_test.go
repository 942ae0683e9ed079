package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A compilation for another platform takes minutes, so the test compiles only for this machine.
func TestKrewManifestNamesTheArchivesOfThePlugin(t *testing.T) {
	version, err := chartVersion("charts/etcd-operator/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := release{version: version, dir: t.TempDir(), time: commit}
	if err := r.plugin(t.Context(), options{platforms: "linux/" + runtime.GOARCH}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(r.path("etcd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k krewPlugin
	if err := yaml.UnmarshalStrict(raw, &k); err != nil {
		t.Fatal(err)
	}
	checkKrew(t, k)
	if len(k.Spec.Platforms) != 1 {
		t.Fatalf("%d platforms", len(k.Spec.Platforms))
	}
	p := k.Spec.Platforms[0]
	packed, err := os.ReadFile(r.path(filepath.Base(p.URI)))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != p.SHA256 {
		t.Errorf("the archive has SHA-256 %x, and the manifest %s", sum, p.SHA256)
	}
	files, err := unzip(packed)
	if err != nil || len(files) != 3 || files[0].name != p.Bin || files[1].name != "LICENSE" || files[2].name != completer {
		t.Errorf("%d files, error %v", len(files), err)
	}
	doc := newDocument(version, commit)
	if err := r.addPlugins(doc); err != nil || len(doc.programs) != 1 || len(doc.modules) < 20 {
		t.Errorf("the SBOM has %d programs and %d modules, error %v", len(doc.programs), len(doc.modules), err)
	}
}

func TestKrewManifestHasAllPlatforms(t *testing.T) {
	r := release{version: "1.2.3"}
	k := r.krew()
	for platform := range strings.SplitSeq(pluginPlatforms, ",") {
		system, arch, _ := strings.Cut(platform, "/")
		k.add(system, arch, r.version, r.pluginArchive(system, arch), []byte(platform))
	}
	checkKrew(t, *k)
	if got := k.Spec.Platforms[5]; got.Bin != "kubectl-etcd.exe" || !strings.HasSuffix(got.URI, "/v1.2.3/kubectl-etcd-1.2.3-windows-arm64.tar.gz") {
		t.Errorf("%+v", got)
	}
}

// checkKrew checks what Krew refuses: its index has the same rules.
func checkKrew(t *testing.T, k krewPlugin) {
	t.Helper()
	if k.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || k.Kind != "Plugin" || k.Metadata["name"] != "etcd" {
		t.Errorf("%s %s %v", k.APIVersion, k.Kind, k.Metadata)
	}
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+`).MatchString(k.Spec.Version) {
		t.Errorf("version %s", k.Spec.Version)
	}
	if n := len(k.Spec.ShortDescription); n == 0 || n > 50 || strings.HasSuffix(k.Spec.ShortDescription, ".") {
		t.Errorf("the short description has %d characters", n)
	}
	seen := map[string]bool{}
	for _, p := range k.Spec.Platforms {
		labels := p.Selector.MatchLabels
		platform := labels["os"] + "/" + labels["arch"]
		if seen[platform] || !strings.Contains(pluginPlatforms, platform) || len(labels) != 2 {
			t.Errorf("platform %v", labels)
		}
		seen[platform] = true
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(p.SHA256) || !strings.HasPrefix(p.URI, "https://") || !strings.HasSuffix(p.URI, ".tar.gz") {
			t.Errorf("%s: %s %s", platform, p.URI, p.SHA256)
		}
		if want := strings.Contains(p.Bin, ".exe"); want != (labels["os"] == "windows") || !strings.HasPrefix(p.Bin, "kubectl-etcd") {
			t.Errorf("%s: program %s", platform, p.Bin)
		}
	}
}
