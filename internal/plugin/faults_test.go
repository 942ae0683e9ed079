package plugin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// twenty are the faults of the table in docs/kubectl-etcd.md: what happened, and the screen.
var twenty = [][2]string{
	{"The volumes of two of three members are lost", "quorum-lost"},
	{"The space quota is used up", "no-space"},
	{"A member has raised the alarm NOSPACE, and the status is older", "alarm-from-a-member"},
	{"etcd has found that members have different data", "data-corrupt"},
	{"A member does not answer", "member-down"},
	{"The Pod of a member is evicted again and again", "pod-failing"},
	{"A NetworkPolicy keeps the operator from the members", "unreachable"},
	{"Authentication is on in etcd, and the operator has no user", "access-denied"},
	{"Kubernetes has no default StorageClass", "no-storage-class"},
	{"The Secret with the certificates is missing", "secret-missing"},
	{"The spec skips a minor version", "version-refused"},
	{"A Service of the same name exists", "not-ours"},
	{"Somebody added a member by etcdctl", "foreign-member"},
	{"The image does not exist", "image-unavailable"},
	{"etcd ends as soon as it starts", "crash-loop"},
	{"No node has room for a member", "unschedulable"},
	{"The store refuses the credentials of a backup", "backup-denied"},
	{"A snapshot failed its restore test", "snapshot-corrupt"},
	{"A restore failed", "restore-failed"},
	{"cluster-operator does not run", "never-seen"},
}

const (
	faultsBegin = "<!-- faults: generated -->\n"
	faultsEnd   = "<!-- /faults -->"
)

func TestThePageShowsTheFirstThreeLinesOfTwentyFaults(t *testing.T) {
	const file = "../../docs/kubectl-etcd.md"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(raw), faultsBegin)
	got, after, ended := strings.Cut(rest, faultsEnd)
	if !begun || !ended {
		t.Fatalf("%s has no %q and %q", file, faultsBegin, faultsEnd)
	}
	var want strings.Builder
	for _, row := range twenty {
		objects := healthy()
		faults[row[1]](&objects)
		lines := Inspect(objects).FirstLines()
		if strings.HasPrefix(lines[0], "OK:") {
			t.Errorf("%s: %s", row[1], lines[0])
		}
		fmt.Fprintf(&want, "\n%s:\n\n    %s\n", row[0], strings.Join(lines[:], "\n    "))
	}
	want.WriteString("\n")
	if *update {
		if err := os.WriteFile(file, []byte(before+faultsBegin+want.String()+faultsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", file, diff)
	}
}

// Five words in a row of each message must be in the operators, so that the screens show what they write today. The plugin or
// Kubernetes writes the messages that are skipped, and that of MemberDown has too few words.
func TestMessagesOfTheFaultsAreThoseOfTheOperators(t *testing.T) {
	sources := operators(t)
	for _, row := range twenty {
		objects := healthy()
		faults[row[1]](&objects)
		problem := Inspect(objects).Findings[0].Problem
		if strings.Contains("member-down alarm-from-a-member image-unavailable crash-loop unschedulable never-seen", row[1]) {
			continue
		}
		words, found := strings.Fields(problem), false
		for i := 0; i+5 <= len(words); i++ {
			found = found || strings.Contains(sources, strings.Join(words[i:i+5], " "))
		}
		if !found {
			t.Errorf("no operator writes %q", problem)
		}
	}
}

// operators returns the code of the operators without its tests.
func operators(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && entry.Name() == "plugin" {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
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
