package faults

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/findings"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

var update = flag.Bool("update", false, "write the faults into the page of kubectl etcd")

const (
	page  = "../../docs/kubectl-etcd.md"
	begin = "<!-- recorded faults: generated -->\n"
	end   = "<!-- /recorded faults -->"
)

// A reader of the page must find what the plugin shows today.
func TestThePageShowsWhatTheTestsOfRealClustersRecorded(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(raw), begin)
	got, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		t.Fatalf("%s has no %q and %q", page, begin, end)
	}
	want := section(t) + "\n"
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", page, diff)
	}
}

func section(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, f := range recorded() {
		lines := findings.Inspect(replay(t, f)).FirstLines()
		fmt.Fprintf(&text, "\n%s\n\n", f.What)
		for _, line := range lines {
			fmt.Fprintf(&text, "    %s\n", strings.ReplaceAll(terminal.Wrap(line, 100, 9), "\n", "\n    "))
		}
	}
	return text.String()
}

// recorded returns the faults that have a record.
func recorded() []Fault {
	return slices.DeleteFunc(slices.Clone(All), func(f Fault) bool { _, err := os.Stat(file(f)); return err != nil })
}

func file(f Fault) string { return filepath.Join("testdata", f.Name+".yaml") }

// replay returns what was recorded of a fault.
func replay(t *testing.T, f Fault) (o observed.Objects) {
	t.Helper()
	content, err := os.ReadFile(file(f))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, &o); err != nil {
		t.Fatalf("read the record of %s: %v", f.Name, err)
	}
	return o
}

func TestThePageShowsTwentyFaults(t *testing.T) {
	if n := len(recorded()); n < 20 {
		t.Errorf("%d faults are recorded: run make record-faults", n)
	}
}

func TestEveryFaultIsAProblemOrAState(t *testing.T) {
	for _, f := range recorded() {
		lines, err := firstThree(replay(t, f))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(lines[0], "OK:") || !strings.HasPrefix(lines[1], "Impact:  ") || !strings.HasPrefix(lines[2], "Fix:     ") {
			t.Errorf("%s: %q", f.Name, lines)
		}
	}
}

// A fault without its test would be shown for ever as it once was.
func TestEveryFaultIsCausedByTheTestThatTheListNames(t *testing.T) {
	for _, f := range All {
		folder := filepath.Join("..", f.Package)
		tests := source(t, folder, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		if !strings.Contains(tests, "func "+f.Test+"(") || !strings.Contains(tests, `"`+f.Name+`"`) {
			t.Errorf("%s has no test %s, or none causes the fault %s", folder, f.Test, f.Name)
		}
	}
	records, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(records) != len(recorded()) {
		t.Errorf("%d records belong to faults of the list, and there are %q, %v", len(recorded()), records, err)
	}
}

// Five words in a row of each message must be in the operators or in the plugin, so that the records show what they write today. Other
// programs write most of the messages that are skipped.
func TestMessagesOfTheRecordsAreThoseOfToday(t *testing.T) {
	ours := func(name string) bool { return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") }
	code := source(t, "../../internal", ours) + source(t, "../../api", ours)
	for _, f := range recorded() {
		first := findings.Inspect(replay(t, f)).Findings[0]
		if slices.Contains([]string{v1beta2.ReasonReconcileError, v1beta2.ReasonMemberDown, v1beta2.ReasonPodUnschedulable}, first.Reason) {
			continue
		}
		words, found := strings.Fields(first.Problem), false
		for i := 0; i+5 <= len(words); i++ {
			found = found || strings.Contains(code, strings.Join(words[i:i+5], " "))
		}
		if !found {
			t.Errorf("%s: no operator writes %q. Record it again", f.Name, first.Problem)
		}
	}
}

// source returns the Go code of a folder.
func source(t *testing.T, folder string, wanted func(name string) bool) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !wanted(entry.Name()) {
			return err
		}
		raw, err := os.ReadFile(path)
		text.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}
