package e2e

import (
	"context"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Others write while a team gets its keys back: the members are not restarted, no watch ends, and each change is one of the revisions that follow.
func TestKeysOfATeamAreRestoredWhileOthersUseTheCluster(t *testing.T) {
	t.Parallel()
	n := begin(t)
	before, path := n.saved()
	etcd := n.etcd("three", nil)
	n.put(etcd, "other", 20)
	var revision int64
	n.eventuallyQuiet(func(ctx context.Context) error {
		response, err := etcd.Delete(ctx, "key-1", clientv3.WithPrefix())
		if err == nil && response.Deleted > 0 {
			revision = response.Header.Revision
		}
		return err
	})
	pods := n.pods("three")
	watched := etcd.Watch(t.Context(), "key-", clientv3.WithPrefix(), clientv3.WithRev(revision+1))
	client := n.traffic("three", nil)

	n.apply(strings.Replace(s3Restore("try", "three", path), "spec:\n", "spec:\n  prefixes: [key-]\n  dryRun: true\n", 1))
	says(n, &v1beta2.EtcdRestore{}, "try", v1beta2.ConditionReady, v1beta2.ReasonDryRun, `create "key-1"`)
	n.apply(strings.Replace(s3Restore("keys", "three", path), "spec:\n", "spec:\n  prefixes: [key-]\n", 1))
	restore := becomes(n, &v1beta2.EtcdRestore{}, "keys", v1beta2.ConditionComplete)
	client.stop("a restore of keys").failuresAtMost(n, 0)

	n.has(etcd, "key", 100)
	n.has(etcd, "other", 20)
	if p := restore.Status.Prefixes; p.Created != 11 || p.Changed != 0 || p.Conflicts != 0 || restore.Status.SafetySnapshot == nil {
		t.Errorf("%+v", restore.Status)
	}
	for seen, last := 0, revision; seen < 11; {
		response := <-watched
		if err := response.Err(); err != nil {
			t.Fatalf("the watch ended: %v", err)
		}
		for _, event := range response.Events {
			if event.Type != clientv3.EventTypePut || event.Kv.ModRevision < last {
				t.Errorf("%s after revision %d", event.Kv, last)
			}
			seen, last = seen+1, event.Kv.ModRevision
		}
	}
	after := n.ready("three")
	for name, pod := range n.pods("three") {
		if pods[name].UID != pod.UID {
			t.Errorf("Pod %s is another one than before", name)
		}
	}
	if after.Status.ClusterID != before.Status.ClusterID || after.Status.Incarnation != before.Status.Incarnation {
		t.Errorf("the cluster was replaced: %+v", after.Status)
	}
}
