package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

const root = "../../.."

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
		if Older(a+".0", b+".0") {
			return -1
		}
		return 1
	})
	return found
}

// flawedReleases returns the first release of each flaw, and the last one before its fix. If a flaw begins where another one is
// fixed, both count as one.
func flawedReleases(t *testing.T) []string {
	t.Helper()
	var first, last []string
	for _, flaw := range flaws {
		var major, minor, patch int
		if _, err := fmt.Sscanf(flaw.fixed, "%d.%d.%d", &major, &minor, &patch); err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprintf("%d.%d.%d", major, minor, patch-1)
		if i := slices.IndexFunc(flaws, func(f struct{ from, fixed, what string }) bool { return f.fixed == flaw.from }); i >= 0 {
			last[i] = before
			first, last = append(first, ""), append(last, "")
			continue
		}
		first, last = append(first, flaw.from), append(last, before)
	}
	return slices.DeleteFunc(slices.Concat(first, last), func(v string) bool { return v == "" })
}

func TestTheLowestVersionIsTheSameInDocumentsTestsAndCode(t *testing.T) {
	minors := testedMinors(t)
	lowest, newest := minors[0], minors[len(minors)-1]
	if minor(oldestTested) != lowest {
		t.Errorf("the operator takes %s for the oldest tested version, and the tests have etcd %s", minor(oldestTested), lowest)
	}
	var fresh v1beta2.EtcdClusterSpec
	for path, claims := range map[string][]string{
		"docs/day-2.md": {
			fmt.Sprintf("The suite is tested with %s to %s. A new cluster without `spec.version` gets %s;", lowest, newest, fresh.EtcdVersion()),
			fmt.Sprintf("| %s | 3.5 |", lowest), fmt.Sprintf("**Up from %s.**", lowest),
		},
		"docs/operations.md": {
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

func TestTheRunbookNamesTheReleasesThatCanDamageData(t *testing.T) {
	_, section, _ := strings.Cut(document(t, "docs/operations.md"), "### VersionNotAdvised **Meaning.**")
	section, _, _ = strings.Cut(section, "can damage data. The oldest tested")
	for _, release := range flawedReleases(t) {
		if !strings.Contains(section, release) {
			t.Errorf("docs/operations.md#versionnotadvised does not name etcd %s: %q", release, section)
		}
	}
}
