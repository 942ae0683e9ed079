package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// leaderMoves is the allowed number of outages in one rolling restart. The leadership moves once, or twice if the new
// leader restarts later itself. Meanwhile etcd refuses writes with "raft proposal dropped".
const leaderMoves = 2

// refusedDuringMoves is how many requests may fail in these outages, for a client that sends one request at a time. On a loaded machine, three
// failed in one outage of 200 ms.
const refusedDuringMoves = 3 * leaderMoves

// brokenConnections is the number of further outages during an upgrade from 3.4. A member of 3.4 that stops closes its connections
// without an answer to the last request. So the client begins at the leader, which is the last to stop: otherwise it could be connected
// to each of the three in turn.
const brokenConnections = 1

// etcdAtLeader returns a client that is connected to the leader.
func (n *namespaced) etcdAtLeader(cluster string) (etcd *clientv3.Client) {
	n.Helper()
	n.eventually("a client is connected to the leader", func(ctx context.Context) error {
		etcd = n.etcd(cluster, nil)
		response, err := etcd.Get(ctx, "key")
		if err != nil {
			return err
		}
		for _, m := range n.cluster(cluster).Status.MemberStatuses {
			if m.Role == v1beta2.MemberLeader && m.ID == fmt.Sprintf("%016x", response.Header.MemberId) {
				return nil
			}
		}
		return errors.New("the Service chose a follower")
	})
	return etcd
}

// One cluster is upgraded through every minor version and downgraded by one. Then its resources change. A client writes
// and reads meanwhile. The cluster starts with 3.4, because 3.6 and 3.7 would panic on its raft log, and it holds too
// little data for a raft snapshot.
func TestClusterServesDuringEveryUpgradeAndPodChange(t *testing.T) {
	n := begin(t)
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: old}
spec: {size: 3, version: "3.4.15"}
`)
	before := n.ready("old")
	etcd := n.etcd("old", nil)
	n.put(etcd, "key", 50)
	tolerated := leaderMoves + brokenConnections
	for _, version := range []string{"3.5.35", "3.6.16", "3.7.3", "3.6.16"} {
		pods := n.pods("old")
		client := n.etcd("old", nil)
		if tolerated > leaderMoves {
			client = n.etcdAtLeader("old")
		}
		traffic := n.trafficOf(client)
		n.patch("old", fmt.Sprintf(`{"spec":{"version":%q}}`, version))
		after := n.ready("old")
		saw := traffic.stop("the change to version " + version)
		saw.outagesAtMost(n, tolerated)
		if tolerated == leaderMoves {
			saw.failuresAtMost(n, refusedDuringMoves)
		}
		tolerated = leaderMoves
		if after.Status.CurrentVersion != version || after.Status.VersionChange != nil {
			t.Errorf("the status reports version %s and the change %+v, expected %s and none", after.Status.CurrentVersion, after.Status.VersionChange, version)
		}
		if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" {
			t.Errorf("the names or IDs of members changed (-before +after):\n%s", diff)
		}
		n.podsRecreated("old", pods, true)
	}
	n.has(etcd, "key", 50)

	n.patch("old", `{"spec":{"version":"3.4.23"}}`)
	says(n, &v1beta2.EtcdCluster{}, "old", v1beta2.ConditionStalled, v1beta2.ReasonVersionNotSupported, "Set spec.version back to 3.6.16")
	n.statusNames("old", "version-set-back", "Set spec.version back to 3.6.16", "Set spec.version to the version that the message names")
	n.patch("old", `{"spec":{"version":"3.6.16"}}`)
	n.ready("old")

	pods := n.pods("old")
	n.patch("old", `{"spec":{"pod":{"labels":{"tier":"data"}}}}`)
	n.eventually("every Pod has the new label", func(context.Context) error {
		for name, pod := range n.pods("old") {
			if pod.Labels["tier"] != "data" {
				return fmt.Errorf("Pod %s has the labels %v", name, pod.Labels)
			}
		}
		return nil
	})
	n.ready("old")
	n.podsRecreated("old", pods, false)

	traffic := n.traffic("old", nil)
	n.patch("old", `{"spec":{"pod":{"resources":{"requests":{"memory":"96Mi"}},"etcdEnv":[{"name":"ETCD_LOG_LEVEL","value":"warn"}]}}}`)
	n.eventually("every Pod has the new resources", func(context.Context) error {
		for name, pod := range n.pods("old") {
			if got := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory]; got.String() != "96Mi" {
				return fmt.Errorf("Pod %s requests %s of memory", name, got.String())
			}
		}
		return nil
	})
	n.ready("old")
	saw := traffic.stop("a change of resources")
	saw.outagesAtMost(n, leaderMoves)
	saw.failuresAtMost(n, refusedDuringMoves)
	n.podsRecreated("old", pods, true)
	n.has(etcd, "key", 50)
}

func (n *namespaced) patch(cluster, patch string) {
	n.Helper()
	n.kubectl("patch", "etcdcluster/"+cluster, "--type=merge", "-p", patch)
}

// podsRecreated fails the test unless all Pods were recreated, or none if want is false.
func (n *namespaced) podsRecreated(cluster string, before map[string]corev1.Pod, want bool) {
	n.Helper()
	uids := func(pods map[string]corev1.Pod) map[types.UID]bool {
		all := map[types.UID]bool{}
		for _, pod := range pods {
			all[pod.UID] = true
		}
		return all
	}
	old := uids(before)
	for name, pod := range n.pods(cluster) {
		if old[pod.UID] == want {
			n.Errorf("Pod %s was recreated: %t, expected %t", name, !old[pod.UID], want)
		}
	}
}
