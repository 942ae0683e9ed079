package cli

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A user cannot distinguish a command that found nothing from one that did not work, and does not know how to get what is missing.
func TestAnEmptyListSaysWhatIsMissingAndWhatToDo(t *testing.T) {
	asleep := example()
	asleep.Name, asleep.Spec.Hibernate = "asleep", true
	waiting := hourly()
	waiting.Name, waiting.Spec.EtcdCluster.Name, waiting.Status = "waiting", "asleep", v1beta2.EtcdBackupStatus{}
	k := kitOf(t, example(), asleep, waiting)
	for command, want := range map[string][]string{
		"snapshots example":              {"There is no snapshot of EtcdCluster example in namespace ns.", "No EtcdBackup saves it", "kubectl etcd backup example --storage"},
		"snapshots asleep":               {"There is no snapshot of EtcdCluster asleep in namespace ns.", "EtcdBackup waiting has saved none yet", "kubectl etcd backup asleep"},
		"snapshots -A":                   {"There is no snapshot in any namespace.", "EtcdBackup waiting has saved none yet"},
		"snapshots --namespace empty":    {"There is no snapshot in namespace empty.", "kubectl etcd snapshots -A"},
		"events example":                 {"There is no event of EtcdCluster example in namespace ns.", "Kubernetes deletes events after an hour", "kubectl etcd status example"},
		"logs example":                   {"There is no Pod of EtcdCluster example in namespace ns.", "kubectl etcd status example"},
		"logs asleep":                    {"There is no Pod of EtcdCluster asleep in namespace ns.", "kubectl etcd wake asleep"},
		"status -A --namespace nothing!": {"There is no EtcdCluster in any namespace.", "tutorial-first-cluster"},
	} {
		k.Known.Namespace = "ns"
		if strings.Contains(command, "empty") {
			k.Known.Namespace = "empty"
		}
		of := k
		if strings.Contains(command, "nothing!") {
			of = kitOf(t)
		}
		out := of.must(t, strings.Fields(command)...)
		said := strings.Join(strings.Fields(of.err.String()), " ")
		for _, part := range want {
			if out != "" || !strings.Contains(said, part) {
				t.Errorf("%s: %q %q, want %q", command, out, said, part)
			}
		}
		for line := range strings.SplitSeq(of.err.String(), "\n") {
			if len(line) > 100 && !strings.Contains(line, "kubectl") {
				t.Errorf("%s: %d characters: %s", command, len(line), line)
			}
		}
		k.Everywhere = false
	}
}

// A new user types kubectl etcd status first, and a number of clusters does not lead to one.
func TestACommandWithoutAClusterSaysHowToGetOne(t *testing.T) {
	for name, k := range map[string]*kit{"tutorial-first-cluster": kitOf(t), "a, b": kitOf(t, named("a"), named("b"))} {
		if _, err := k.run(t, "status"); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "kubectl etcd status") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func named(name string) *v1beta2.EtcdCluster {
	c := example()
	c.Name = name
	return c
}

// The message named an empty member, and a reader looked for a fault in the command line.
func TestMoveLeaderOfAClusterWithoutALeaderSaysSo(t *testing.T) {
	c := example()
	c.Status.MemberStatuses[0].Role = v1beta2.MemberVoter
	if _, err := kitOf(t, c).run(t, "move-leader", "example", "--yes"); err == nil || !strings.Contains(err.Error(), "reports no leader") {
		t.Errorf("%v", err)
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
	if !strings.Contains(out, "\nDo not delete Pods or volumes of members") || strings.Contains(out, "[!CAUTION]") {
		t.Errorf("the callout of the page is missing, or has marks of Markdown:\n%s", out)
	}
	if out := k.must(t, "explain"); !strings.Contains(out, "NoSpace\n") {
		t.Error(out)
	}
	if _, err := k.run(t, "explain", "quorum"); err == nil || !strings.Contains(err.Error(), "Similar ones: QuorumLost") {
		t.Errorf("%v", err)
	}
}
