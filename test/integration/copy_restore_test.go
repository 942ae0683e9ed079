package integration

import (
	"context"
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// The first bucket is lost with all snapshots and manifests. The copy must stand alone: its own bucket, path and Secret.
func TestARestoreSelectsTheCopyIfTheFirstBucketIsLost(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	etcd.Members[0].Put(t, "key", "value")
	b := newBackupBench(t)
	b.server.CreateBucket(t, "second")
	kubetest.Create(t, b.secret("other", b.bucket.Data))
	second := v1beta2.Storage{S3: &v1beta2.S3Source{Path: "second/copies", AWSSecret: "other", Endpoint: b.server.Endpoint, ForcePathStyle: true}}
	backup := b.backup("example", "backups/series", etcd.Endpoints()...)
	backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly, MaxBackups: 2}
	backup.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: second}
	kubetest.Create(t, backup)
	for _, request := range []string{"first", "second", "third"} {
		etcd.Members[0].Put(t, "key", request)
		b.askNow(backup, request)
	}
	kubetest.Await(t, backup, "have its newest snapshot in the second location", func(backup *v1beta2.EtcdBackup) bool {
		c := backup.Status.Copies
		return c != nil && c.Newest != nil && c.Newest.SHA256 == backup.Status.Snapshot.SHA256
	})
	b.stop()
	if err := os.RemoveAll(b.server.BucketDir("backups")); err != nil {
		t.Fatal(err)
	}

	spool := t.TempDir()
	kubetest.RunManager(t, b.namespace, func(_ context.Context, mgr manager.Manager) error {
		prove, err := restore.InSpool(spool)
		if err != nil {
			return err
		}
		return restore.Setup(mgr, restore.Options{Prove: prove, Save: restore.SaveInSpool(spool, nil), Sign: source.Sign, MaxProofs: 2, Metrics: prometheus.NewRegistry()})
	})
	bench := &restoreBench{T: t, namespace: b.namespace, server: b.server, bucket: b.bucket}
	r := bench.restore("of-the-copy", "second/copies")
	r.Spec.Storage, r.Spec.Select = second, &v1beta2.SnapshotSelector{}
	kubetest.Create(t, r)
	bench.await(r, v1beta2.ReasonWaitingForCluster) // it is verified, and there is no cluster in this test
	if got, want := r.Status.Source, backup.Status.Copies.Newest; got.Bucket+"/"+got.Key != want.Path || r.Status.Snapshot.SHA256 != want.SHA256 {
		t.Errorf("the restore selects %s/%s, expected %s:\n%s", got.Bucket, got.Key, want.Path, kubetest.YAML(r))
	}
	fetched, err := proof.Fetch(t.Context(), open(t, s3Location(b.server, "second")), r.Status.Source.Key, proof.Alone(t.TempDir()), nil, snapshot.Anyone)
	if err != nil || fetched.SHA256 != backup.Status.Snapshot.SHA256 {
		t.Errorf("the seed would read %+v, error %v, and not the newest snapshot %+v", fetched, err, backup.Status.Snapshot)
	}
}
