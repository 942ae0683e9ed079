package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// leaderMoves is at how many moments etcd may refuse writes while leadership moves, once in each roll or, if the new
// leader is one that is yet to be rolled, twice: "raft proposal dropped" means that a write was not made.
const leaderMoves = 2

// refusedInMoves is how many requests may fail in them, of a client that sends them one after the other.
const refusedInMoves = 3

// brokenOff is at how many moments more on the way from 3.4, which ends connections without answering what came last.
const brokenOff = 1

// One cluster is brought through every minor version and back by one, and then given other resources, while a client
// writes and reads. It is born where 3.6 and 3.7 would panic on its raft log, and holds too little to have a raft snapshot.
func TestAClusterServesThroughEveryVersionAndChangeOfItsPods(t *testing.T) {
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
	tolerated := leaderMoves + brokenOff
	for _, version := range []string{"3.5.35", "3.6.16", "3.7.3", "3.6.16"} {
		pods := n.pods("old")
		traffic := n.traffic("old", nil)
		n.patch("old", fmt.Sprintf(`{"spec":{"version":%q}}`, version))
		after := n.ready("old")
		saw := traffic.stop("the way to " + version)
		saw.withoutMoreThan(t, tolerated)
		if tolerated == leaderMoves {
			saw.without(t, refusedInMoves)
		}
		tolerated = leaderMoves
		if after.Status.CurrentVersion != version || after.Status.VersionChange != nil {
			t.Errorf("current version %s, %+v", after.Status.CurrentVersion, after.Status.VersionChange)
		}
		if diff := cmp.Diff(memberIDs(before), memberIDs(after)); diff != "" {
			t.Errorf("members changed (-before +after):\n%s", diff)
		}
		n.madeAgain("old", pods, true)
	}
	n.has(etcd, "key", 50)

	n.patch("old", `{"spec":{"version":"3.4.23"}}`)
	says(n, &v1beta2.EtcdCluster{}, "old", v1beta2.ConditionStalled, v1beta2.ReasonVersionNotSupported, "set version back to 3.6.16")
	n.patch("old", `{"spec":{"version":"3.6.16"}}`)
	n.ready("old")

	pods := n.pods("old")
	n.patch("old", `{"spec":{"pod":{"labels":{"tier":"data"}}}}`)
	n.eventually("labels on every Pod", func(context.Context) error {
		for name, pod := range n.pods("old") {
			if pod.Labels["tier"] != "data" {
				return fmt.Errorf("%s has %v", name, pod.Labels)
			}
		}
		return nil
	})
	n.ready("old")
	n.madeAgain("old", pods, false)

	traffic := n.traffic("old", nil)
	n.patch("old", `{"spec":{"pod":{"resources":{"requests":{"memory":"96Mi"}},"etcdEnv":[{"name":"ETCD_LOG_LEVEL","value":"warn"}]}}}`)
	n.eventually("other resources in every Pod", func(context.Context) error {
		for name, pod := range n.pods("old") {
			if got := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory]; got.String() != "96Mi" {
				return fmt.Errorf("%s has %s", name, got.String())
			}
		}
		return nil
	})
	n.ready("old")
	saw := traffic.stop("a change of resources")
	saw.withoutMoreThan(t, leaderMoves)
	saw.without(t, refusedInMoves)
	n.madeAgain("old", pods, true)
	n.has(etcd, "key", 50)
}

func (n *namespaced) patch(cluster, patch string) {
	n.Helper()
	n.kubectl("patch", "etcdcluster/"+cluster, "--type=merge", "-p", patch)
}

// madeAgain fails the test unless all Pods are others than before, or none.
func (n *namespaced) madeAgain(cluster string, before map[string]corev1.Pod, want bool) {
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
			n.Errorf("Pod %s was made again: %t, want %t", name, !old[pod.UID], want)
		}
	}
}
