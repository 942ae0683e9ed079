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

func TestADrainTakesOneMemberAndNeverQuorum(t *testing.T) {
	n := begin(t)
	n.apply(three)
	before := n.ready("three")
	client := n.traffic("three", nil)
	n.tlsRefused("three", `{"managed":{}}`, `{"certManager":{"issuerRef":{"name":"example-ca"}}}`,
		`{"static":{"member":{"peerSecret":"peer","serverSecret":"server"},"operatorSecret":"client"}}`)

	hosts := map[string]string{} // member of each host
	var order []string
	for name, pod := range n.pods("three") {
		hosts[pod.Spec.NodeName] = name
		order = append(order, pod.Spec.NodeName)
	}
	if len(hosts) != 3 {
		t.Fatalf("three members stand on %d hosts: there is no host to drain alone", len(hosts))
	}
	drain := func(ctx context.Context, host, limit string) (string, error) {
		return suite.Kubectl(ctx, "drain", host, "--pod-selector=etcd_cluster=three", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+limit)
	}
	uncordon := func(host string) {
		if _, err := suite.Kubectl(context.WithoutCancel(t.Context()), "uncordon", host); err != nil {
			t.Error(err)
		}
	}
	first, second := order[0], order[1]
	t.Cleanup(func() { uncordon(first); uncordon(second) })
	n.eventually("the first host is drained", func(ctx context.Context) error {
		_, err := drain(ctx, first, "30s")
		return err
	})
	if said, err := drain(t.Context(), second, "3s"); err == nil || !strings.Contains(err.Error()+said, "disruption budget") {
		t.Errorf("the drain of a second host is not held up: %v\n%s", err, said)
	}
	uncordon(second)
	uncordon(first)
	n.ready("three")
	n.eventually("the second host is drained once the first is back", func(ctx context.Context) error {
		_, err := drain(ctx, second, "30s")
		return err
	})
	uncordon(second)
	after := n.ready("three")
	if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" {
		t.Errorf("members changed (-before +after):\n%s", diff)
	}
	saw := client.stop("two drains")
	saw.withoutMoreThan(t, leaderMoves)
	saw.without(t, refusedInMoves)
	if names := n.kubectl("get", "pdb", "-o", "name"); !strings.Contains(names, "three") {
		t.Errorf("PodDisruptionBudgets: %s", names)
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

// A cluster that stays full refuses its users until somebody is awake; one that loses a volume in its sleep, or while it
// changes its mind, loses all.
func TestAClusterMakesRoomChangesItsMindAndSleepsAndLosesNoKey(t *testing.T) {
	n := begin(t)
	n.apply(full)
	before := n.ready("full")
	etcd := n.etcd("full", nil)
	n.put(etcd, "key", 20)
	n.fill(etcd)
	n.eventually("there is room again", func(ctx context.Context) error {
		_, err := etcd.Put(ctx, "room", "")
		return err
	})
	n.ready("full")

	client := n.traffic("full", nil)
	n.scales("full", 5, 4)
	n.scales("full", 3, 3)
	n.scales("full", 5, 5)
	five := n.ready("full")
	client.stop("5 to 3 to 5").without(t, 2)

	n.grows("full")

	n.kubectl("patch", "etcdcluster/full", "--type=merge", "-p", `{"spec":{"hibernate":true}}`)
	says(n, &v1beta2.EtcdCluster{}, "full", v1beta2.ConditionReady, v1beta2.ReasonHibernated)
	if left := n.pods("full"); len(left) != 0 {
		t.Errorf("asleep with %d Pods", len(left))
	}
	n.kubectl("patch", "etcdcluster/full", "--type=merge", "-p", `{"spec":{"hibernate":false}}`)
	awake := n.ready("full")
	if diff := cmp.Diff(memberIDs(five), memberIDs(awake)); diff != "" || awake.Status.ClusterID != before.Status.ClusterID {
		t.Errorf("awake as cluster %s, and not %s (-before +after):\n%s", awake.Status.ClusterID, before.Status.ClusterID, diff)
	}
	n.has(etcd, "key", 20)
	n.kubectl("delete", "etcdcluster/full", "--cascade=foreground")
	if kept := strings.Fields(n.kubectl("get", "pvc", "-l", "etcd_cluster=full", "-o", "name")); len(kept) != 5 {
		t.Errorf("%d of five volumes outlive their cluster, which was to retain them", len(kept))
	}
}

// fill writes history until etcd refuses for want of space.
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
	n.Fatal("the quota was never used up")
}

// scales asks for a size, and waits for a number of Pods.
func (n *namespaced) scales(cluster string, size, pods int) {
	n.Helper()
	n.kubectl("scale", "etcdcluster/"+cluster, fmt.Sprintf("--replicas=%d", size))
	n.eventually(fmt.Sprintf("%d Pods", pods), func(context.Context) error {
		if found := len(n.pods(cluster)); found != pods {
			return fmt.Errorf("%d Pods", found)
		}
		return nil
	})
}
