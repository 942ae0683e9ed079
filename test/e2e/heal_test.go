package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// impatient replaces a member as soon as the API lets it.
const impatient = `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: healing}
spec:
  size: 3
  version: "3.6.16"
  recovery: {memberReplacementGrace: 30s}
  pod:
    etcdEnv: [{name: ETCD_COMPACT_HASH_CHECK_TIME, value: 1s}] # as soon as a compaction is through
`

// One life of one cluster, which gives free space back, and loses a volume, a process that hangs, the content of a
// disk, a byte of one and a host. Clients go on all the while.
func TestAClusterHealsWhileClientsWrite(t *testing.T) {
	n := begin(t)
	n.bringStoresBack()
	n.apply(impatient)
	n.ready("healing")
	n.givesSpaceBack("healing")
	members := memberIDs(n.ready("healing"))
	lose := func(what, victim string, tolerated int, fault func(victim string)) {
		t.Helper()
		traffic, began := n.traffic("healing", nil), time.Now()
		fault(victim)
		members = n.replaced("healing", members, victim)
		t.Logf("%s: replaced after %s", what, time.Since(began).Round(time.Second))
		traffic.stop(what).without(t, tolerated)
	}
	lose("loss of a volume", n.follower("healing"), 2, func(victim string) {
		n.kubectl("delete", "pvc", victim, "--wait=false")
		n.kubectl("delete", "pod", victim, "--wait=false")
	})
	n.ready("healing")
	if suite.Local == nil {
		return // hosts and processes are out of reach
	}
	lose("damage of a database", n.follower("healing"), 2, func(victim string) {
		process := n.process(victim)
		database := filepath.Join("/proc", strconv.Itoa(process), "root/var/etcd/data/member/snap/db")
		if err := os.WriteFile(database, bytes.Repeat([]byte("garbage."), 1<<16), 0o600); err != nil {
			t.Fatal(err)
		}
		n.signal(process, syscall.SIGKILL)
	})
	n.ready("healing")
	// A client that is connected to the one that hangs waits for its own deadline once.
	lose("a member that hangs", n.follower("healing"), 1, func(victim string) { n.signal(n.process(victim), syscall.SIGSTOP) })
	n.ready("healing")

	n.changedInSilence("healing")
	members = memberIDs(n.ready("healing"))

	victim, host := n.spareHost("healing")
	// A client that was connected to it notices by a request, and may be led there once more, for the 20 s that a
	// connection is waited for: so long its Service still names it.
	lose("loss of a host", victim, 3, func(string) {
		if err := suite.Local.StopNode(t.Context(), host); err != nil {
			t.Fatal(err)
		}
	})
	if err := suite.Local.StartNode(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	n.ready("healing")
	n.makesUpForAMissedRun("healing")
}

// follower names a ready member that does not lead.
func (n *namespaced) follower(name string) string {
	n.Helper()
	for _, m := range n.cluster(name).Status.MemberStatuses {
		if m.Ready && m.Role == v1beta2.MemberVoter {
			return m.Name
		}
	}
	n.Fatalf("no follower in %s", name)
	return ""
}

func (n *namespaced) cluster(name string) *v1beta2.EtcdCluster {
	n.Helper()
	var cluster v1beta2.EtcdCluster
	if err := suite.Client.Get(n.Context(), client.ObjectKey{Namespace: n.name, Name: name}, &cluster); err != nil {
		n.Fatal(err)
	}
	return &cluster
}

// replaced waits until three members serve and the victim's ID is not among them, and returns them.
func (n *namespaced) replaced(name string, before map[string]string, victim string) map[string]string {
	n.Helper()
	after := map[string]string{}
	n.eventually("member "+victim+" is replaced", func(context.Context) error {
		cluster := n.cluster(name)
		after = memberIDs(cluster)
		if ids := slices.Collect(maps.Values(after)); slices.Contains(ids, before[victim]) || len(cluster.Status.Members.Ready) != 3 || len(ids) != 3 {
			return fmt.Errorf("members %v, ready %v", after, cluster.Status.Members.Ready)
		}
		return nil
	})
	return after
}

// process finds the etcd of a member among the processes of this machine.
func (n *namespaced) process(member string) int {
	n.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		n.Fatal(err)
	}
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(command, []byte("--name="+member+"\x00")) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			n.Fatal(err)
		}
		return id
	}
	n.Fatalf("no process of member %s", member)
	return 0
}

func (n *namespaced) signal(process int, signal syscall.Signal) {
	n.Helper()
	if err := syscall.Kill(process, signal); err != nil {
		n.Fatal(err)
	}
}

// spareHost is a host with a member and no operator, and its number.
func (n *namespaced) spareHost(name string) (victim string, number int) {
	n.Helper()
	var operators corev1.PodList
	if err := suite.Client.List(n.Context(), &operators, client.InNamespace(stack.Namespace)); err != nil {
		n.Fatal(err)
	}
	taken := map[string]bool{}
	for _, pod := range operators.Items {
		if strings.Contains(pod.Name, "cluster-operator") {
			taken[pod.Spec.NodeName] = true
		}
	}
	for _, pod := range n.pods(name) {
		if !taken[pod.Spec.NodeName] {
			number, err := strconv.Atoi(strings.TrimPrefix(pod.Spec.NodeName, "node-"))
			if err != nil {
				n.Fatal(err)
			}
			return pod.Name, number
		}
	}
	n.Fatal("every host with a member has an operator")
	return "", 0
}

// Two of three volumes go. Nothing is done about it but to say so, until the spec consents; then the cluster goes on
// with all that the survivor held.
func TestALostQuorumGoesOnFromTheSurvivorByConsentOnly(t *testing.T) {
	n := begin(t)
	n.apply(strings.ReplaceAll(three, "three", "broken"))
	before := n.ready("broken")
	traffic := n.traffic("broken", nil)
	survivor := ""
	var lost []string
	for _, m := range before.Status.MemberStatuses {
		if m.Role == v1beta2.MemberLeader {
			survivor = m.Name // it knows every write that was acknowledged
		} else {
			lost = append(lost, m.Name)
		}
	}
	began := time.Now()
	n.kubectl(append([]string{"delete", "pvc", "--wait=false"}, lost...)...)
	n.kubectl(append([]string{"delete", "pod", "--wait=false"}, lost...)...)
	says(n, &v1beta2.EtcdCluster{}, "broken", v1beta2.ConditionStalled, v1beta2.ReasonQuorumLost, "ForceNewCluster", "EtcdRestore")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s to say that quorum is lost", took)
	}
	n.eventually("an event says so", func(ctx context.Context) error {
		events, err := suite.Kubectl(ctx, "-n", n.name, "get", "events", "--field-selector=type=Warning,reason=QuorumLost", "-o", "name")
		if err == nil && strings.TrimSpace(events) == "" {
			return fmt.Errorf("no event")
		}
		return err
	})
	if pods := n.pods("broken"); len(pods) != 1 || n.cluster("broken").Status.Recovery != nil {
		t.Errorf("without consent there are %d Pods, recovery %+v", len(pods), n.cluster("broken").Status.Recovery)
	}

	forced := time.Now()
	n.kubectl("patch", "etcdcluster/broken", "--type=merge", "-p", `{"spec":{"recovery":{"quorumLoss":"ForceNewCluster"}}}`)
	after := n.ready("broken")
	t.Logf("at full size %s after the consent", time.Since(forced).Round(time.Second))
	recovery := after.Status.Recovery
	if recovery == nil || recovery.Step != v1beta2.RecoveryComplete || recovery.Member != survivor || recovery.RaftIndex == 0 || recovery.Revision == 0 {
		t.Errorf("recovery %+v, want a complete one of %s", recovery, survivor)
	}
	if before.Status.ClusterID != after.Status.ClusterID || memberIDs(before)[survivor] != memberIDs(after)[survivor] {
		t.Errorf("the survivor has another identity: %s %v, before %s %v", after.Status.ClusterID, memberIDs(after), before.Status.ClusterID, memberIDs(before))
	}
	for _, pod := range n.pods("broken") {
		for _, arg := range pod.Spec.Containers[0].Command {
			if strings.Contains(arg, "force-new-cluster") {
				t.Errorf("Pod %s keeps %s", pod.Name, arg)
			}
		}
	}
	traffic.stop("loss of two of three volumes")
}

// The archived operator lost everything when all members restarted (its issues 1323 and 2049).
func TestAllHostsRebootedLoseNothing(t *testing.T) {
	if suite.Local == nil {
		t.Log("hosts of another Kubernetes are not restarted")
		return
	}
	n := begin(t)
	n.bringStoresBack()
	n.apply(strings.ReplaceAll(three, "three", "rebooted"))
	before := n.ready("rebooted")
	traffic := n.traffic("rebooted", nil)
	n.put(n.etcd("rebooted", nil), "key", 20)
	for host := 1; host <= stack.Nodes; host++ {
		if err := suite.Local.StopNode(t.Context(), host); err != nil {
			t.Fatal(err)
		}
	}
	began := metav1.Now()
	for host := 1; host <= stack.Nodes; host++ {
		if err := suite.Local.StartNode(t.Context(), host); err != nil {
			t.Fatal(err)
		}
	}
	n.eventually("every member was started again", func(context.Context) error {
		for name, pod := range n.pods("rebooted") {
			statuses := pod.Status.ContainerStatuses
			if len(statuses) == 0 || statuses[0].State.Running == nil || statuses[0].State.Running.StartedAt.Before(&began) || !statuses[0].Ready {
				return fmt.Errorf("%s is not ready since", name)
			}
		}
		return nil
	})
	after := n.ready("rebooted")
	if before.Status.ClusterID != after.Status.ClusterID {
		t.Errorf("cluster ID was %s and is %s: another cluster", before.Status.ClusterID, after.Status.ClusterID)
	}
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" {
		t.Errorf("members changed (-before +after):\n%s", diff)
	}
	n.has(n.etcd("rebooted", nil), "key", 20)
	traffic.stop("reboot of all hosts")
}

// bringStoresBack makes the buckets again when the test is over: the stores keep nothing when their hosts stop.
func (n *namespaced) bringStoresBack() {
	n.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if _, err := suite.StartS3(ctx); err != nil {
			n.Error(err)
		}
		if _, err := suite.StartGCS(ctx); err != nil {
			n.Error(err)
		}
	})
}
