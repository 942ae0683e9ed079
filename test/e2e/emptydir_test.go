package e2e

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// departures is the allowed number of outages while three members are replaced: the leadership moves once, and the
// client may be connected to each of the three leaving members.
const departures = 1 + 3

// The members keep their data in their Pods, so a change that needs new Pods replaces the members one by one while a
// client writes and reads. The cluster starts with 3.5, because 3.7 cannot read the raft log of such a cluster.
func TestMembersWithoutVolumesAreReplacedOnEveryChangeWithoutDataLoss(t *testing.T) {
	t.Parallel()
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
		saw.outagesAtMost(n, departures)
		saw.failuresAtMost(n, departures+refusedDuringMoves)
		n.allReplaced(before, after)
		before = after
	}
	if before.Status.CurrentVersion != "3.7.3" || before.Status.Incarnation != 1 {
		t.Errorf("the status reports version %s and incarnation %d, expected 3.7.3 and 1", before.Status.CurrentVersion, before.Status.Incarnation)
	}
	n.has(etcd, "key", 50)

	n.patch("scratch", `{"spec":{"version":"3.6.16"}}`)
	says(n, &v1beta2.EtcdCluster{}, "scratch", v1beta2.ConditionStalled, v1beta2.ReasonVersionNotSupported, "emptyDir", "Set spec.version to 3.7.3 again")
	n.statusNames("scratch", "version-set-back-without-volumes", "emptyDir", "For an older minor version on emptyDir, create another EtcdCluster")
}

// allReplaced fails the test unless the cluster has the same number of members as before, and all of them are new.
func (n *namespaced) allReplaced(before, after *v1beta2.EtcdCluster) {
	n.Helper()
	left := map[string]bool{}
	for _, m := range before.Status.MemberStatuses {
		left[m.ID] = true
	}
	for _, m := range after.Status.MemberStatuses {
		if left[m.ID] || m.Role == v1beta2.MemberLearner {
			n.Errorf("member %s (%s), role %s, was not replaced or is still a learner", m.Name, m.ID, m.Role)
		}
	}
	if len(after.Status.MemberStatuses) != len(before.Status.MemberStatuses) {
		n.Errorf("the cluster has %d members, expected %d", len(after.Status.MemberStatuses), len(before.Status.MemberStatuses))
	}
}
