package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// contentOf returns a document as one line, so that a claim is found across line breaks and comment signs.
func contentOf(t *testing.T, path ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.DeleteFunc(strings.Fields(string(raw)), func(word string) bool { return word == "#" }), " ")
}

func valuesOfTheChart(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// valueAt returns the value at a path such as image.tag.
func valueAt(values map[string]any, path string) (any, bool) {
	first, rest, deeper := strings.Cut(path, ".")
	value, found := values[first]
	if !deeper || !found {
		return value, found
	}
	inner, is := value.(map[string]any)
	if !is {
		return nil, false
	}
	return valueAt(inner, rest)
}

// written returns the value as the README writes it.
func written(value any) string {
	if s, is := value.(string); is && s != "" {
		return s
	}
	raw, _ := json.Marshal(value)
	return string(raw)
}

func TestREADMEStatesTheDefaultOfEachValue(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	values := valuesOfTheChart(t)
	compared := 0
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z.]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(string(raw), -1) {
		path, states := row[1], row[2]
		owners := []string{""}
		if _, found := valueAt(values, path); !found {
			owners = []string{"cluster", "backup", "restore"} // a row of the table that the operators share
		}
		for _, owner := range owners {
			full := strings.TrimPrefix(owner+"Operator."+path, "Operator.")
			value, found := valueAt(values, full)
			if want := strings.ReplaceAll(states, "<operator>", owner+"-operator"); !found || written(value) != want {
				t.Errorf("the README states %s as the default of %s, and values.yaml has %s", want, full, written(value))
			}
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("only %d defaults were found in the README", compared)
	}
}

const gib = 1 << 30

// spoolOf returns how large the operator's volume is by default, and how much of it jobs can use.
func spoolOf(t *testing.T, values map[string]any, operator string) (size, usable int64) {
	t.Helper()
	limit, _ := valueAt(values, operator+".spool.sizeLimit")
	quantity, err := resource.ParseQuantity(fmt.Sprint(limit))
	if err != nil {
		t.Fatal(err)
	}
	return quantity.Value(), spool.New(t.TempDir(), spool.Options{Limit: quantity.Value()}).Largest()
}

func TestTheSpoolIsAsLargeAsTheDocumentsState(t *testing.T) {
	values := valuesOfTheChart(t)
	size, usable := spoolOf(t, values, "backupOperator")
	if share := size / (size - usable); share != 16 || size%16 != 0 {
		t.Errorf("the documents leave a sixteenth to the file system, and the code 1/%d", share)
	}
	const recommended = 8 * gib // the largest database that etcd recommends
	if beside := proof.RestoreTestSpace(recommended) - 2*recommended; beside != 128<<20 {
		t.Errorf("a restore test needs twice the database and 128 MiB in the documents, and twice the database and %d MiB in the code", beside>>20)
	}
	if need := proof.RestoreTestSpace(recommended); need > usable {
		t.Errorf("the default of backup-operator holds no restore test of 8 GiB: it needs %d bytes of %d", need, usable)
	}
	if _, usable := spoolOf(t, values, "restoreOperator"); recommended >= usable {
		t.Errorf("the default of restore-operator holds no snapshot of 8 GiB and smaller ones beside it: it has %d bytes", usable)
	}
	for path, claims := range map[string][]string{
		filepath.Join(chartDir, "README.md"): {
			"twice that and 128 MiB for a restore test", "A sixteenth of `sizeLimit` is left to the file system and to other namespaces",
			"default of 24Gi holds a snapshot of 8 GiB, the largest database that etcd recommends, and smaller ones beside it",
		},
		filepath.Join(chartDir, "values.yaml"): {
			"The default holds the restore test of a database of 8 GiB", "A restore test needs twice the database and 128 MiB",
			"The default holds a snapshot of 8 GiB",
		},
		"../../docs/reasons-backup-restore.md": {
			"A restore test needs twice that size and 128 MiB", "15/16 of `backupOperator.spool.sizeLimit`", "two thirds of `restoreOperator.spool.sizeLimit`", "four fifths of `restoreOperator.spool.sizeLimit`",
		},
		"../../docs/backup.md": {"the spool volume, which needs twice the size of the database and 128 MiB"},
	} {
		content := contentOf(t, path)
		for _, claim := range claims {
			if !strings.Contains(content, claim) {
				t.Errorf("%s does not state %q, which this test compares with the code", path, claim)
			}
		}
	}
}

func TestTheSpoolIsWhereTheREADMEStates(t *testing.T) {
	readme := contentOf(t, chartDir, "README.md")
	for _, claim := range []string{"backup-operator writes each snapshot to an `emptyDir`", "restore-operator downloads a snapshot to its `emptyDir`",
		"With `volumeClaim.enabled` each Pod has a volume of its own, which Kubernetes deletes with the Pod"} {
		if !strings.Contains(readme, claim) {
			t.Errorf("the README does not state %q, which this test compares with the chart", claim)
		}
	}
	for _, operator := range []string{backupOperator, restoreOperator} {
		value := strings.TrimSuffix(operator, "-operator") + "Operator"
		size, _ := spoolOf(t, valuesOfTheChart(t), value)
		for claim, values := range map[bool]string{false: "", true: value + ": {spool: {volumeClaim: {enabled: true}}}"} {
			pod := render(t, values).deployment(t, operator).Spec.Template.Spec
			for _, v := range pod.Volumes {
				if v.Name != "spool" {
					continue
				}
				switch {
				case claim && (v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate.Spec.Resources.Requests.Storage().Value() != size):
					t.Errorf("%s: its spool is no ephemeral volume of %d bytes: %+v", operator, size, v.VolumeSource)
				case !claim && (v.EmptyDir == nil || v.EmptyDir.SizeLimit.Value() != size):
					t.Errorf("%s: its spool is no emptyDir of %d bytes: %+v", operator, size, v.VolumeSource)
				}
			}
			limit := fmt.Sprintf("--spool-limit=%s", resource.NewQuantity(size, resource.BinarySI))
			if args := pod.Containers[0].Args; !slices.Contains(args, limit) || !slices.Contains(args, "--spool-dir=/spool") {
				t.Errorf("%s does not know its spool at /spool and %s: %v", operator, limit, args)
			}
		}
	}
}
