package versions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/versions"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

const root = "../../../.."

func document(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(raw)), " ")
}

// testedMinors are the minor versions of etcd that the tests can start, in order.
func testedMinors(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "test/localkube/programs/etcd-3.*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("the programs of the tests have no etcd: %v", err)
	}
	for i, path := range found {
		found[i] = strings.TrimPrefix(filepath.Base(path), "etcd-")
	}
	slices.SortFunc(found, func(a, b string) int {
		if state.Older(a+".0", b+".0") {
			return -1
		}
		return 1
	})
	return found
}

func TestTheLowestVersionIsTheSameInDocumentsTestsAndCode(t *testing.T) {
	minors := testedMinors(t)
	lowest, newest := minors[0], minors[len(minors)-1]
	if state.Minor(versions.OldestTested) != lowest {
		t.Errorf("the operator takes %s for the oldest tested version, and the tests have etcd %s", state.Minor(versions.OldestTested), lowest)
	}
	var fresh v1beta2.EtcdClusterSpec
	for path, claims := range map[string][]string{
		"docs/day-2.md": {
			fmt.Sprintf("The suite is tested with %s to %s. A new cluster without `spec.version` gets %s;", lowest, newest, fresh.EtcdVersion()),
			fmt.Sprintf("| %s | 3.5 |", lowest), fmt.Sprintf("**Up from %s.**", lowest),
		},
		"docs/reasons-cluster.md": {
			"The oldest tested minor version is " + lowest + ".", "A cluster before " + lowest + " moves by a restore",
		},
		"docs/migrating-from-coreos.md": {"(etcd " + lowest + " and newer)"},
	} {
		content := document(t, path)
		for _, claim := range claims {
			if !strings.Contains(content, claim) {
				t.Errorf("%s does not state %q", path, claim)
			}
		}
	}
}

func TestTheManualNamesEachDefectOfEtcd(t *testing.T) {
	page := document(t, "docs/reference.md")
	for _, d := range etcdversion.Defects() {
		if !strings.Contains(page, d.Effect) || !strings.Contains(page, d.Source) {
			t.Errorf("docs/reference.md does not name the defect of %s: %s", d.From, d.Effect)
		}
	}
	for minor, last := range etcdversion.Ended {
		if said := document(t, "docs/reasons-cluster.md"); !strings.Contains(said, last[0]) {
			t.Errorf("docs/reasons-cluster.md does not name the last release of %s, %s", minor, last[0])
		}
	}
}
