package e2e

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// departures is at how many moments requests may fail while three members are replaced: leadership moves once, and
// each member that leaves may be the one that the client talks to.
const departures = 1 + 3

// The data of its members is in their Pods: a change that takes other Pods replaces the members, one by one, while a
// client writes and reads. It is born where 3.7 cannot read what is in its raft log.
func TestMembersWithoutVolumesAreReplacedForEveryChangeAndLoseNothing(t *testing.T) {
	n := begin(t)
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: scratch}
spec: {size: 3, version: "3.5.35", pod: {emptyDir: {}}}
`)
	before := n.ready("scratch")
	etcd := n.etcd("scratch", nil)
	n.put(etcd, "key", 50)
	for _, change := range []struct{ to, patch string }{
		{"other resources", `{"spec":{"pod":{"resources":{"requests":{"memory":"96Mi"}},"etcdEnv":[{"name":"ETCD_LOG_LEVEL","value":"warn"}]}}}`},
		{"version 3.6.16", `{"spec":{"version":"3.6.16"}}`},
		{"version 3.7.3", `{"spec":{"version":"3.7.3"}}`},
	} {
		traffic := n.traffic("scratch", nil)
		n.patch("scratch", change.patch)
		after := n.ready("scratch")
		saw := traffic.stop("a change to " + change.to + " without volumes")
		saw.withoutMoreThan(t, departures)
		saw.without(t, departures+refusedInMoves)
		n.allReplaced(before, after)
		before = after
	}
	if before.Status.CurrentVersion != "3.7.3" || before.Status.Incarnation != 1 {
		t.Errorf("version %s, incarnation %d", before.Status.CurrentVersion, before.Status.Incarnation)
	}
	n.has(etcd, "key", 50)

	n.patch("scratch", `{"spec":{"version":"3.6.16"}}`)
	says(n, &v1beta2.EtcdCluster{}, "scratch", v1beta2.ConditionStalled, v1beta2.ReasonVersionNotSupported, "emptyDir", "set version back to 3.7.3")
}

// allReplaced fails the test unless a cluster has as many members as before, and none of them.
func (n *namespaced) allReplaced(before, after *v1beta2.EtcdCluster) {
	n.Helper()
	left := map[string]bool{}
	for _, m := range before.Status.MemberStatuses {
		left[m.ID] = true
	}
	for _, m := range after.Status.MemberStatuses {
		if left[m.ID] || m.Role == v1beta2.MemberLearner {
			n.Errorf("member %s (%s), %s, was there before or has no vote", m.Name, m.ID, m.Role)
		}
	}
	if len(after.Status.MemberStatuses) != len(before.Status.MemberStatuses) {
		n.Errorf("%d members, and %d before", len(after.Status.MemberStatuses), len(before.Status.MemberStatuses))
	}
}
