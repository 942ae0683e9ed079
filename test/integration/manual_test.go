package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// manifestOfAPage is a block of a page that has whole objects of this API.
var manifestOfAPage = regexp.MustCompile("(?ms)^ *```yaml\n( *apiVersion: etcd\\.database\\.coreos\\.com/v1beta2\n.*?)^ *```$")

// A reader copies a manifest from the manual. Manifests with a placeholder such as <bucket> are left out.
func TestManifestsInTheManualAreAccepted(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(kubetest.Root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	namespace, applied := kubetest.Namespace(t), 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range manifestOfAPage.FindAllStringSubmatch(string(text), -1) {
			indent := block[1][:len(block[1])-len(strings.TrimLeft(block[1], " "))] // of a block in a list
			manifest := strings.ReplaceAll("\n"+block[1], "\n"+indent, "\n")
			if strings.Contains(manifest, "<") {
				continue
			}
			applied++
			if _, err := kubetest.Kubectl(t, manifest, "apply", "--dry-run=server", "-n", namespace, "-f", "-"); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(page), err, manifest)
			}
		}
	}
	if applied < 5 {
		t.Errorf("the manual has %d manifests", applied)
	}
}
