package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/plugin/findings"
	"github.com/etcd-suite/etcd-operator/internal/plugin/plugintest"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// A person on a terminal of 100 columns reads a message of 783 characters badly, and a log viewer cuts it.
func TestNoTextOfAStatusIsLongerThanTheScreen(t *testing.T) {
	for name, change := range plugintest.Faults {
		objects := plugintest.Healthy()
		change(&objects)
		var out strings.Builder
		if err := findings.Inspect(objects).Render(&out, terminal.Style{Width: 100}); err != nil {
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
	for name, change := range plugintest.Faults {
		objects := plugintest.Healthy()
		change(&objects)
		status := findings.Inspect(objects)
		for _, f := range status.Findings {
			for _, command := range f.Commands {
				if findings.Unfilled.MatchString(command) || !findings.Placed.MatchString(command) {
					t.Errorf("%s: %s", name, command)
				}
			}
		}
		var out strings.Builder
		if err := status.Render(&out, terminal.Style{}); err != nil {
			t.Fatal(err)
		}
		if _, more, found := strings.Cut(out.String(), "More:"); found && !strings.HasPrefix(more, "    https://") {
			t.Errorf("%s: %s", name, more)
		}
	}
}

func TestCommandsOfTheRunbookNameTheObjectsOfTheUser(t *testing.T) {
	about := findings.Subject{Namespace: "ns", Cluster: "db", Members: []string{"db-a"}}
	got := findings.CommandsFor([]string{
		"kubectl describe pod <member>", "kubectl describe etcdbackup <name>", "kubectl describe etcdrestore <name>",
		"kubectl get service example-client -o yaml", "kubectl logs -n <namespace> deployment/<cluster-operator>", "kubectl get pods -A",
	}, about, "EtcdBackup hourly", about.MemberIn("Member db-a is down."))
	want := []string{
		"kubectl -n ns describe pod db-a", "kubectl -n ns describe etcdbackup hourly", "kubectl -n ns get service db-client -o yaml", "kubectl get pods -A",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
