package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func TestDrainNeverBreaksQuorum(t *testing.T) {
	n := begin(t)
	n.apply(three)
	before := n.ready("three")
	client := n.traffic("three", nil)
	n.tlsChangeRefused("three", `{"managed":{}}`, `{"certManager":{"issuerRef":{"name":"example-ca"}}}`,
		`{"static":{"member":{"peerSecret":"peer","serverSecret":"server"},"operatorSecret":"client"}}`)

	nodes := map[string]string{} // node to member
	var order []string
	for name, pod := range n.pods("three") {
		nodes[pod.Spec.NodeName] = name
		order = append(order, pod.Spec.NodeName)
	}
	if len(nodes) != 3 {
		t.Fatalf("the three members run on %d nodes, expected 3: a drain would stop more than one member", len(nodes))
	}
	drain := func(ctx context.Context, node, limit string) (string, error) {
		return suite.Kubectl(ctx, "drain", node, "--pod-selector=etcd_cluster=three", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+limit)
	}
	uncordon := func(node string) {
		if _, err := suite.Kubectl(context.WithoutCancel(t.Context()), "uncordon", node); err != nil {
			t.Error(err)
		}
	}
	first, second := order[0], order[1]
	t.Cleanup(func() { uncordon(first); uncordon(second) })
	n.eventually("the first node is drained", func(ctx context.Context) error {
		_, err := drain(ctx, first, "30s")
		return err
	})
	if output, err := drain(t.Context(), second, "10s"); err == nil || !strings.Contains(err.Error()+output, "disruption budget") {
		t.Errorf("the disruption budget does not block the drain of a second node, which breaks quorum: %v\n%s", err, output)
	}
	uncordon(second)
	uncordon(first)
	n.ready("three")
	n.eventually("the second node is drained after the first member is ready again", func(ctx context.Context) error {
		_, err := drain(ctx, second, "30s")
		return err
	})
	uncordon(second)
	after := n.ready("three")
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" {
		t.Errorf("the names or IDs of members changed (-before +after):\n%s", diff)
	}
	saw := client.stop("two drains")
	saw.outagesAtMost(n, leaderMoves)
	saw.failuresAtMost(n, refusedDuringMoves)
	if names := n.kubectl("get", "pdb", "-o", "name"); !strings.Contains(names, "three") {
		t.Errorf("the cluster has no PodDisruptionBudget; found: %s", names)
	}
}

const full = `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: full}
spec:
  size: 3
  version: "3.6.16"
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain}
  noSpace: {keepRevisions: 5}
  pod:
    etcdEnv: [{name: ETCD_QUOTA_BACKEND_BYTES, value: "16777216"}]
`

// A full cluster refuses writes until the operator frees space. A cluster that lost a volume while it hibernates, or
// when a scale-down is reverted, would lose data.
func TestNoKeyIsLostWhenAClusterFreesSpaceRevertsAScaleAndHibernates(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.apply(full)
	before := n.ready("full")
	etcd := n.etcd("full", nil)
	n.put(etcd, "key", 20)
	n.fill(etcd)
	n.eventually("the cluster accepts writes again", func(ctx context.Context) error {
		_, err := etcd.Put(ctx, "room", "")
		return err
	})
	n.ready("full")

	client := n.traffic("full", nil)
	n.scales("full", 5, 4)
	n.scales("full", 3, 3)
	n.scales("full", 5, 5)
	five := n.ready("full")
	client.stop("5 to 3 to 5").outagesAtMost(n, 2)

	n.expandsVolumes("full")

	n.kubectl("patch", "etcdcluster/full", "--type=merge", "-p", `{"spec":{"hibernate":true}}`)
	says(n, &v1beta2.EtcdCluster{}, "full", v1beta2.ConditionReady, v1beta2.ReasonHibernated)
	if left := n.pods("full"); len(left) != 0 {
		t.Errorf("the hibernated cluster has %d Pods, expected none", len(left))
	}
	n.kubectl("patch", "etcdcluster/full", "--type=merge", "-p", `{"spec":{"hibernate":false}}`)
	awake := n.ready("full")
	if diff := cmp.Diff(memberIDs(five), memberIDs(awake)); diff != "" || awake.Status.ClusterID != before.Status.ClusterID {
		t.Errorf("after hibernation the cluster ID is %s, expected %s; members (-before +after):\n%s", awake.Status.ClusterID, before.Status.ClusterID, diff)
	}
	n.has(etcd, "key", 20)
	n.kubectl("delete", "etcdcluster/full", "--cascade=foreground")
	if kept := strings.Fields(n.kubectl("get", "pvc", "-l", "etcd_cluster=full", "-o", "name")); len(kept) != 5 {
		t.Errorf("%d of 5 volumes are kept after the cluster is deleted, but its retention policy is Retain", len(kept))
	}
}

// fill writes until etcd returns that the quota is exceeded.
func (n *namespaced) fill(etcd *clientv3.Client) {
	n.Helper()
	value := strings.Repeat("x", 512<<10)
	for range 200 {
		ctx, cancel := context.WithTimeout(n.Context(), requestLimit)
		_, err := etcd.Put(ctx, "history", value)
		cancel()
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return
		}
	}
	n.Fatal("etcd accepted 200 writes of 512 KiB, although its quota is 16 MiB")
}

// scales sets a size and waits for a number of Pods. If the number is below the size, there may be more: new Pods are created side by
// side, and a look may miss the time at which there are fewer.
func (n *namespaced) scales(cluster string, size, pods int) {
	n.Helper()
	n.kubectl("scale", "etcdcluster/"+cluster, fmt.Sprintf("--replicas=%d", size))
	n.eventually(fmt.Sprintf("%d Pods", pods), func(context.Context) error {
		if found := len(n.pods(cluster)); found < pods || found > max(pods, size) {
			return fmt.Errorf("%d Pods exist", found)
		}
		return nil
	})
}
