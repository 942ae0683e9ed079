package cli

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A user cannot distinguish a command that found nothing from one that did not work.
func TestAnEmptyListSaysSo(t *testing.T) {
	k := kitOf(t, example())
	for command, want := range map[string]string{
		"snapshots":         "There is no snapshot in namespace ns.\n",
		"snapshots example": "There is no snapshot of EtcdCluster example in namespace ns.\n",
		"snapshots -A":      "There is no snapshot in any namespace.\n",
		"events example":    "There is no event of the last hour of EtcdCluster example in namespace ns.\n",
		"logs example":      "There is no Pod of EtcdCluster example in namespace ns.\n",
	} {
		out := k.must(t, strings.Fields(command)...)
		if out != "" || k.err.String() != want {
			t.Errorf("%s: %q %q", command, out, k.err.String())
		}
		k.everywhere = false
	}
}

// A platform team that owns hundreds of clusters needs the ones with a problem, and not one namespace after the other.
func TestStatusOfAllNamespacesShowsProblemsFirst(t *testing.T) {
	broken := example()
	broken.Namespace, broken.Name, broken.Status.ReadyMembers = "other", "broken", "1/3"
	broken.Status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost."}, {Type: "Available", Status: "False", Reason: v1beta2.ReasonQuorumLost},
	}
	k := kitOf(t, example(), hourly(), broken)
	screen(t, "status-all", k.must(t, "status", "-A"))
	if _, err := k.run(t, "status", "-A", "example"); err == nil {
		t.Error("a name is accepted with -A")
	}
}

func TestSnapshotsOfAllNamespacesNameTheirs(t *testing.T) {
	other := hourly()
	other.Namespace, other.Name = "other", "nightly"
	screen(t, "snapshots-all", kitOf(t, hourly(), other).must(t, "snapshots", "-A"))
}

func lease(name, version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "etcd-operator", Name: name + "." + v1beta2.Group, Labels: map[string]string{"app.kubernetes.io/version": version}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new(name + "-6d5f_0b5e")},
	}
}

// Who reports a problem is asked for the versions first, and they are in the labels of Leases.
func TestVersionShowsThePluginAndTheOperators(t *testing.T) {
	k := kitOf(t, lease("cluster-operator", "1.2.3"), lease("backup-operator", "1.2.2"))
	screen(t, "version", k.must(t, "version"))
	screen(t, "version-none", kitOf(t).must(t, "version"))
	if out := k.must(t, "version", "--client", "-o", "json"); out != "{\n  \"client\": \"1.2.3\"\n}\n" {
		t.Error(out)
	}
}

// The runbook of a reason is on the web. On a bad night, or behind a proxy, the program must have it.
func TestExplainShowsThePageOfAReason(t *testing.T) {
	k := kitOf(t)
	out := k.must(t, "explain", "quorumlost")
	screen(t, "explain", out)
	for line := range strings.SplitSeq(out, "\n") {
		if len(line) > 100 && !strings.HasPrefix(line, "    ") {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
	if out := k.must(t, "explain"); !strings.Contains(out, "NoSpace\n") {
		t.Error(out)
	}
	if _, err := k.run(t, "explain", "quorum"); err == nil || !strings.Contains(err.Error(), "Similar ones: QuorumLost") {
		t.Errorf("%v", err)
	}
}
