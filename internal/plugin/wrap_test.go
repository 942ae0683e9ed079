package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A person on a terminal of 100 columns reads a message of 783 characters badly, and a log viewer cuts it.
func TestNoTextOfAStatusIsLongerThanTheScreen(t *testing.T) {
	for name, change := range faults {
		objects := healthy()
		change(&objects)
		var out strings.Builder
		if err := Inspect(objects).Render(&out, Style{Width: 100}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			whole := strings.HasPrefix(line, "Snapshots: ") || strings.Contains(line, "kubectl ") || strings.Contains(line, "https://") // to copy
			if len(line) > 100 && !whole {
				t.Errorf("%s: %d characters: %s", name, len(line), line)
			}
		}
	}
}

// A user who copies the command kubectl describe pod <member> gets an error of the shell, and a page without an address cannot be opened.
func TestCommandsAndAddressesOfAStatusCanBeCopied(t *testing.T) {
	for name, change := range faults {
		objects := healthy()
		change(&objects)
		status := Inspect(objects)
		for _, f := range status.Findings {
			for _, command := range f.Commands {
				if unfilled.MatchString(command) || !placed.MatchString(command) {
					t.Errorf("%s: %s", name, command)
				}
			}
		}
		var out strings.Builder
		if err := status.Render(&out, Style{}); err != nil {
			t.Fatal(err)
		}
		if _, more, found := strings.Cut(out.String(), "More:"); found && !strings.HasPrefix(more, "    https://") {
			t.Errorf("%s: %s", name, more)
		}
	}
}

func TestCommandsOfTheRunbookNameTheObjectsOfTheUser(t *testing.T) {
	about := subject{namespace: "ns", cluster: "db", members: []string{"db-a"}}
	got := commandsFor([]string{
		"kubectl describe pod <member>", "kubectl describe etcdbackup <name>", "kubectl describe etcdrestore <name>",
		"kubectl get service example-client -o yaml", "kubectl logs -n <namespace> deployment/<cluster-operator>", "kubectl get pods -A",
	}, about, "EtcdBackup hourly", about.memberIn("Member db-a is down."))
	want := []string{
		"kubectl -n ns describe pod db-a", "kubectl -n ns describe etcdbackup hourly", "kubectl -n ns get service db-client -o yaml", "kubectl get pods -A",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
