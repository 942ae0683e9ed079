package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A user restored the wrong snapshot. The volumes of the old members have what was written since, and all but the leader's are of members that
// have left their cluster: etcd itself does not start on them any more.
func TestAnInPlaceRestoreIsUndoneWithAVolumeOfAnOldFollower(t *testing.T) {
	t.Parallel()
	n := begin(t)
	_, path := n.saved()
	etcd := n.etcd("three", nil)
	n.put(etcd, "later", 20)
	follower := n.follower("three")
	n.apply(s3Restore("wrong", "three", path))
	becomes(n, &v1beta2.EtcdRestore{}, "wrong", v1beta2.ConditionComplete)
	n.ready("three")
	n.has(n.etcd("three", nil), "later", 0)

	claim := ""
	n.eventually("the volume of the old follower is set aside", func(context.Context) error {
		cluster := n.ready("three")
		for _, v := range cluster.Status.ReplacedVolumes {
			if strings.Contains(v.Name, follower) {
				claim = v.Name
			}
		}
		if claim == "" {
			return fmt.Errorf("the status names %+v, and not %s", cluster.Status.ReplacedVolumes, follower)
		}
		return nil
	})
	n.apply(fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: undo}
spec:
  etcdCluster: {name: three}
  volume: {claimName: %s}
`, claim))
	becomes(n, &v1beta2.EtcdRestore{}, "undo", v1beta2.ConditionComplete)
	n.ready("three")
	etcd = n.etcd("three", nil)
	n.has(etcd, "key", 100)
	n.has(etcd, "later", 20)
}
