package integration

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

func TestOneShotBackupTakesExactlyOneSnapshot(t *testing.T) {
	t.Parallel()
	etcd := servers.Etcd(t, servers.EtcdOptions{Size: 3})
	for i := range 20 {
		etcdctl(t, "3.6", etcd, "put", fmt.Sprintf("key-%02d", i), strings.Repeat("value", i))
	}
	b := newBackupBench(t)

	b.in("saves a cluster by its endpoints to S3, and etcdutl can read the object", func(b *backupBench) {
		backup := b.backup("s3", "backups/dir/one.db", etcd.Endpoints()...)
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		fetched := b.fetchReported(backup, b.bucket)
		if fetched.Info.Keys != 20 || fetched.Info.Revision != 21 || backup.Status.Snapshot.Path != "backups/dir/one.db" {
			b.Errorf("the snapshot has %d keys at revision %d in %s, expected 20 keys at revision 21 in backups/dir/one.db", fetched.Info.Keys, fetched.Info.Revision, backup.Status.Snapshot.Path)
		}
		out, err := exec.CommandContext(b.Context(), servers.EtcdutlProgram(b, "3.6"), "snapshot", "status", fetched.Path).CombinedOutput()
		if err != nil {
			b.Errorf("etcdutl: %v\n%s", err, out)
		}
	})
	b.in("reports the snapshot in an event", func(b *backupBench) {
		kubetest.Eventually(b, "there is an event SnapshotTaken", func(ctx context.Context) error {
			var events eventsv1.EventList
			if err := kubetest.Client(b).List(ctx, &events, client.InNamespace(b.namespace)); err != nil {
				return err
			}
			if !slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool { return e.Reason == "SnapshotTaken" && e.Regarding.Name == "s3" }) {
				return fmt.Errorf("none of the %d events is SnapshotTaken", len(events.Items))
			}
			return nil
		})
	})
	b.in("saves to GCS", func(b *backupBench) {
		gcs := servers.GCS(b)
		gcs.CreateBucket(b, "bucket")
		backup := b.backup("gcs", "", etcd.Endpoints()...)
		backup.Spec.StorageType = v1beta2.StorageGCS
		backup.Spec.Storage = v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: "bucket/one.db", Endpoint: gcs.Endpoint, GCPSecret: "gcp"}}
		kubetest.Create(b, b.secret("gcp", map[string][]byte{"access-token": []byte("test")}), backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		b.fetchReported(backup, gcsLocation(gcs, "bucket"))
	})
	b.in("waits until an EtcdCluster exists and is available, then saves it with the endpoints in its status", func(b *backupBench) {
		backup := b.backup("named", "backups/named.db")
		backup.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "example"}
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonClusterNotFound, "There is no EtcdCluster example")
		cluster := b.cluster("example", metav1.ConditionFalse, etcd)
		b.fails(backup, v1beta2.ReasonClusterNotAvailable, "as the test says")
		b.report(cluster, metav1.ConditionTrue, etcd)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		if m := b.fetchReported(backup, b.bucket).Manifest; m.Cluster.Name != "example" || m.Cluster.UID != string(cluster.UID) {
			b.Errorf("the manifest names the cluster %+v, expected example", m.Cluster)
		}
	})
	// Defect 7: the archived operator failed a backup if one endpoint was down.
	b.in("succeeds if one endpoint is down", func(b *backupBench) {
		backup := b.backup("down", "backups/down.db", append([]string{"http://127.0.0.1:1"}, etcd.Endpoints()...)...)
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	// Defect 18: the archived operator used the path as a printf format.
	b.in("takes a path with a percent sign, spaces and umlauts literally", func(b *backupBench) {
		backup := b.backup("percent", "backups/100%d %s/ü+&.db", etcd.Endpoints()...)
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		b.fetchReported(backup, b.bucket)
		if got := b.keys("100%d %s/ü+&.db"); len(got) != 2 {
			b.Errorf("the store has the keys %q, expected the snapshot and its manifest", got)
		}
	})
	b.in("runs only once, also after a restart or a change that does not affect the snapshot", func(b *backupBench) {
		backup := b.backup("once", "backups/once.db", etcd.Endpoints()...)
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		before, sum := backup.ResourceVersion, backup.Status.Snapshot.SHA256
		b.stop()
		b.start()
		next := b.backup("next", "backups/next.db", etcd.Endpoints()...)
		kubetest.Create(b, next)
		b.ready(next, metav1.ConditionTrue, v1beta2.ReasonComplete)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		if backup.ResourceVersion != before {
			b.Errorf("the restarted operator changed the finished EtcdBackup:\n%s", kubetest.YAML(backup))
		}
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{TimeoutInSecond: 30}
		if err := kubetest.Client(b).Update(b.Context(), backup); err != nil {
			b.Fatal(err)
		}
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		if backup.Status.Snapshot.SHA256 != sum {
			b.Error("a change of the timeout created a second snapshot")
		}
	})
}
