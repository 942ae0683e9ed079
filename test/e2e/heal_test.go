package e2e

import (
	"bytes"
	"context"
	"errors"
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

// quickRecovery is a cluster with the shortest replacement grace that the API allows.
const quickRecovery = `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: healing}
spec:
  size: 3
  version: "3.6.16"
  recovery: {memberReplacementGrace: 30s}
  pod:
    etcdEnv: [{name: ETCD_COMPACT_HASH_CHECK_TIME, value: 1s}] # compare hashes right after a compaction
`

// One cluster is defragmented and then has these faults: a lost volume, a damaged database, a process that hangs, and one
// corrupt byte. Clients keep working during all of them.
func TestClusterHealsWhileClientsWrite(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(quickRecovery)
	n.ready("healing")
	n.defragments("healing")
	n.ready("healing")
	n.losesMember("loss of a volume", n.follower("healing"), 2, func(victim string) {
		n.kubectl("delete", "pvc", victim, "--wait=false")
		n.kubectl("delete", "pod", victim, "--wait=false")
	})
	if suite.Local == nil {
		return // the test cannot reach the processes of another Kubernetes
	}
	n.losesMember("damage of a database", n.follower("healing"), 2, func(victim string) {
		process := n.process(victim)
		database := filepath.Join("/proc", strconv.Itoa(process), "root/var/etcd/data/member/snap/db")
		if err := os.WriteFile(database, bytes.Repeat([]byte("garbage."), 1<<16), 0o600); err != nil {
			t.Fatal(err)
		}
		n.signal(process, syscall.SIGKILL)
	})
	// A client that is connected to the hanging member waits for its own deadline once.
	n.losesMember("a member that hangs", n.follower("healing"), 1, func(victim string) { n.signal(n.process(victim), syscall.SIGSTOP) })
	n.replacesACorruptMember("healing")
	n.ready("healing")
}

// Other tests do not run meanwhile, because the node has their Pods, too.
func TestClusterHealsAfterTheLossOfANode(t *testing.T) {
	if suite.Local == nil {
		t.Log("the test cannot reach the nodes of another Kubernetes")
		return
	}
	n := begin(t)
	n.recreateBucketsAfterwards()
	n.apply(quickRecovery)
	n.ready("healing")
	victim, node := n.nodeWithoutOperator("healing")
	// A client that was connected to the member detects the loss by a failed request. It may connect to the member once
	// more, because the Service still selects it during the 20 s that a connection attempt takes.
	n.losesMember("loss of a node", victim, 3, func(string) {
		if err := suite.Local.StopNode(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	})
	if err := suite.Local.StartNode(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	n.ready("healing")
	n.catchesUpOnAMissedRun("healing")
}

// losesMember causes a fault of a member of the cluster "healing" while a client writes. It waits until the member is replaced and the
// cluster is Ready. At most a tolerated number of requests may fail.
func (n *namespaced) losesMember(what, victim string, tolerated int, fault func(victim string)) {
	n.Helper()
	members := memberIDs(n.cluster("healing"))
	traffic, began := n.traffic("healing", nil), time.Now()
	fault(victim)
	n.replaced("healing", members, victim)
	n.Logf("%s: the member is replaced after %s", what, time.Since(began).Round(time.Second))
	traffic.stop(what).failuresAtMost(n, tolerated)
	n.ready("healing")
}

// follower returns the name of a ready member that is not the leader.
func (n *namespaced) follower(name string) string {
	n.Helper()
	for _, m := range n.cluster(name).Status.MemberStatuses {
		if m.Ready && m.Role == v1beta2.MemberVoter {
			return m.Name
		}
	}
	n.Fatalf("the status of %s reports no ready follower", name)
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

// replaced waits until three members are ready and none has the victim's ID. It returns the new members.
func (n *namespaced) replaced(name string, before map[string]string, victim string) map[string]string {
	n.Helper()
	after := map[string]string{}
	n.eventually("member "+victim+" is replaced", func(context.Context) error {
		cluster := n.cluster(name)
		after = memberIDs(cluster)
		if ids := slices.Collect(maps.Values(after)); slices.Contains(ids, before[victim]) || len(cluster.Status.Members.Ready) != 3 || len(ids) != 3 {
			return fmt.Errorf("the members are %v, ready %v", after, cluster.Status.Members.Ready)
		}
		return nil
	})
	return after
}

// process returns the ID of a member's etcd process on this machine.
func (n *namespaced) process(member string) int {
	n.Helper()
	id, err := processOf(member)
	if err != nil {
		n.Fatal(err)
	}
	return id
}

func processOf(member string) (int, error) {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err == nil && bytes.Contains(command, []byte("--name="+member+"\x00")) {
			return strconv.Atoi(filepath.Base(filepath.Dir(path)))
		}
	}
	return 0, fmt.Errorf("member %s has no process on this machine", member)
}

func (n *namespaced) signal(process int, signal syscall.Signal) {
	n.Helper()
	err := syscall.Kill(process, signal)
	if signal == syscall.SIGKILL && errors.Is(err, syscall.ESRCH) {
		return // etcd maps the damaged file, and may end by itself before
	}
	if err != nil {
		n.Fatal(err)
	}
}

// nodeWithoutOperator returns a member on a node without cluster-operator, and the node's number.
func (n *namespaced) nodeWithoutOperator(name string) (victim string, number int) {
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
	n.Fatal("cluster-operator runs on every node with a member")
	return "", 0
}

// Two of three volumes are lost. The operator only reports it until the spec consents. Then the cluster continues with
// the data of the surviving member.
func TestLostQuorumIsForcedOnlyWithConsent(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(strings.ReplaceAll(three, "three", "broken"))
	before := n.ready("broken")
	traffic := n.traffic("broken", nil)
	survivor := ""
	var lost []string
	for _, m := range before.Status.MemberStatuses {
		if m.Role == v1beta2.MemberLeader {
			survivor = m.Name // the leader has every acknowledged write
		} else {
			lost = append(lost, m.Name)
		}
	}
	// kubectl deletes one object after another. Between two, the operator would replace the first member.
	n.patch("broken", `{"spec":{"paused":true}}`)
	says(n, &v1beta2.EtcdCluster{}, "broken", v1beta2.ConditionReady, v1beta2.ReasonPaused)
	n.kubectl("delete", "pvc/"+lost[0], "pvc/"+lost[1], "pod/"+lost[0], "pod/"+lost[1])
	began := time.Now()
	n.patch("broken", `{"spec":{"paused":false}}`)
	says(n, &v1beta2.EtcdCluster{}, "broken", v1beta2.ConditionStalled, v1beta2.ReasonQuorumLost, "ForceNewCluster", "EtcdRestore")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the operator reported the lost quorum after %s, the limit is 30s", took)
	}
	n.eventually("an event reports the lost quorum", func(ctx context.Context) error {
		events, err := suite.Kubectl(ctx, "-n", n.name, "get", "events", "--field-selector=type=Warning,reason=QuorumLost", "-o", "name")
		if err == nil && strings.TrimSpace(events) == "" {
			return fmt.Errorf("there is no such event")
		}
		return err
	})
	if pods := n.pods("broken"); len(pods) != 1 || n.cluster("broken").Status.Recovery != nil {
		t.Errorf("the operator acted without consent: %d Pods, expected 1; recovery %+v, expected none", len(pods), n.cluster("broken").Status.Recovery)
	}

	forced := time.Now()
	n.kubectl("patch", "etcdcluster/broken", "--type=merge", "-p", `{"spec":{"recovery":{"quorumLoss":"ForceNewCluster"}}}`)
	after := n.ready("broken")
	t.Logf("the cluster has its full size %s after the consent", time.Since(forced).Round(time.Second))
	recovery := after.Status.Recovery
	if recovery == nil || recovery.Step != v1beta2.RecoveryComplete || recovery.Member != survivor || recovery.RaftIndex == 0 || recovery.Revision == 0 {
		t.Errorf("the status reports the recovery %+v, expected a complete recovery from member %s", recovery, survivor)
	}
	if before.Status.ClusterID != after.Status.ClusterID || memberIDs(before)[survivor] != memberIDs(after)[survivor] {
		t.Errorf("the identity of the surviving member changed: cluster %s, members %v; before: cluster %s, members %v", after.Status.ClusterID, memberIDs(after), before.Status.ClusterID, memberIDs(before))
	}
	for _, pod := range n.pods("broken") {
		for _, arg := range pod.Spec.Containers[0].Command {
			if strings.Contains(arg, "force-new-cluster") {
				t.Errorf("Pod %s still has the argument %s, so a restart would remove the other members", pod.Name, arg)
			}
		}
	}
	traffic.stop("loss of two of three volumes")
}

// The archived operator lost all data when all members restarted (its issues 1323 and 2049).
func TestNoDataIsLostIfAllNodesReboot(t *testing.T) {
	if suite.Local == nil {
		t.Log("the test cannot restart the nodes of another Kubernetes")
		return
	}
	n := begin(t)
	n.recreateBucketsAfterwards()
	n.apply(strings.ReplaceAll(three, "three", "rebooted"))
	before := n.ready("rebooted")
	traffic := n.traffic("rebooted", nil)
	n.put(n.etcd("rebooted", nil), "key", 20)
	for node := 1; node <= stack.Nodes; node++ {
		if err := suite.Local.StopNode(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	began := metav1.Now()
	for node := 1; node <= stack.Nodes; node++ {
		if err := suite.Local.StartNode(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	n.eventually("every member restarted and is ready", func(context.Context) error {
		for name, pod := range n.pods("rebooted") {
			statuses := pod.Status.ContainerStatuses
			if len(statuses) == 0 || statuses[0].State.Running == nil || statuses[0].State.Running.StartedAt.Before(&began) || !statuses[0].Ready {
				return fmt.Errorf("member %s is not ready after the restart", name)
			}
		}
		return nil
	})
	after := n.ready("rebooted")
	if before.Status.ClusterID != after.Status.ClusterID {
		t.Errorf("the cluster ID changed from %s to %s: the operator formed a new, empty cluster", before.Status.ClusterID, after.Status.ClusterID)
	}
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" {
		t.Errorf("the names or IDs of members changed (-before +after):\n%s", diff)
	}
	n.has(n.etcd("rebooted", nil), "key", 20)
	traffic.stop("reboot of all nodes")
}

// recreateBucketsAfterwards recreates the buckets when the test ends, because the stores lose their data when their node
// stops.
func (n *namespaced) recreateBucketsAfterwards() {
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
