package killer_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// TestStatusNamesWhyBackupsAndRestoresFail has a healthy cluster with a continuous archive. Each backup or restore fails for a cause
// of its own.
func TestStatusNamesWhyBackupsAndRestoresFail(t *testing.T) {
	t.Parallel()
	a := newArchived(t, v1beta2.EtcdClusterSpec{Size: 1, Version: older})
	a.archiving()
	wrong := &corev1.Secret{Data: a.store.data()}
	wrong.Namespace, wrong.Name = a.cluster.Namespace, "wrong"
	wrong.Data["secret-access-key"] = []byte("wrong")
	kubetest.Create(t, wrong)

	a.backupsFail()
	a.restoresFail()
	a.in("the bucket of the continuous archive is deleted", func(a *archived) {
		if err := os.RemoveAll(a.store.server.BucketDir(bucket)); err != nil {
			a.Fatal(err)
		}
		a.put("not", "archived")
		a.reportsFault("archive-without-bucket", "EtcdBackup continuous: ", "Check the store")
	})
}

func (a *archived) backupsFail() {
	a.Helper()
	for _, f := range []struct {
		screen
		change func(*v1beta2.S3Source)
	}{
		{screen{"bucket-missing", "no-such-bucket", "Create the bucket"}, func(s3 *v1beta2.S3Source) { s3.Path = "no-such-bucket/once.db" }},
		{screen{"credentials-missing", "Secret missing", "Create or correct the Secret"}, func(s3 *v1beta2.S3Source) { s3.AWSSecret = "missing" }},
		{screen{"credentials-wrong", "the identity in Secret wrong", "Grant the rights"}, func(s3 *v1beta2.S3Source) { s3.AWSSecret = "wrong" }},
		{screen{"store-down", "connection refused", "repair the network or the store"}, func(s3 *v1beta2.S3Source) { s3.Endpoint = "http://127.0.0.1:1" }},
		{screen{"path-without-key", "<bucket>/<key>", "Correct an EtcdBackup"}, func(s3 *v1beta2.S3Source) { s3.Path = bucket }},
	} {
		a.in(f.fault, func(a *archived) {
			once := a.once(f.fault, "once.db")
			f.change(once.Spec.S3)
			kubetest.Create(a, once)
			a.statusNames(f.fault, f.cause, f.remedy)
			a.delete(&v1beta2.EtcdBackup{}, once.Name)
		})
	}
}

// once is an EtcdBackup that takes one snapshot.
func (a *archived) once(name, key string) *v1beta2.EtcdBackup {
	backup := &v1beta2.EtcdBackup{Spec: v1beta2.EtcdBackupSpec{
		EtcdCluster: &v1beta2.ClusterReference{Name: a.cluster.Name}, StorageType: v1beta2.StorageS3, Storage: *a.series.Spec.Storage.DeepCopy(),
	}}
	backup.Namespace, backup.Name, backup.Spec.S3.Path = a.cluster.Namespace, name, bucket+"/"+key
	return backup
}

func (a *archived) restoresFail() {
	a.Helper()
	a.stores()
	before := a.cluster.Status.ClusterID
	for _, f := range []struct {
		screen
		key    string
		change func(*v1beta2.EtcdRestore)
	}{
		{screen{"snapshot-missing", "absent.db", "the right path"}, "absent.db", nil},
		{screen{"snapshot-damaged", "damaged.db", "Restore another snapshot"}, "damaged.db", nil},
		{screen{"snapshot-too-new", "has the format of etcd 3.6", "Set spec.version of the cluster"}, "newer.db", nil},
		{screen{"snapshots-of-two-clusters", "clusters", "the folder of one cluster"}, "two", func(r *v1beta2.EtcdRestore) { r.Spec.Select = &v1beta2.SnapshotSelector{} }},
		{screen{"cluster-replaced", "spec.replaces", "delete the EtcdRestore"}, "two/good.db", func(r *v1beta2.EtcdRestore) { r.Spec.Replaces = "0123456789abcdef" }},
	} {
		a.in(f.fault, func(a *archived) {
			restore := a.store.restore(a.cluster, f.fault, f.key)
			if f.change != nil {
				f.change(restore)
			}
			kubetest.Create(a, restore)
			restorer := a.restoreOperator(&killer.Count{})
			defer restorer.stop()
			a.reportsFault(f.fault, f.cause, f.remedy)
			a.deleteRestore(restore.Name)
		})
	}
	if err := a.isReady(); err != nil || a.cluster.Status.ClusterID != before {
		a.Errorf("the failed restores changed cluster %s to %s: %v", before, a.cluster.Status.ClusterID, err)
	}
}

// stores puts into the store a good snapshot with its manifest, the same of another cluster, a damaged one, and one of etcd 3.6.
func (a *archived) stores() {
	a.Helper()
	good := a.once("good", "two/good.db")
	kubetest.Create(a, good)
	kubetest.Await(a, good, "save the cluster", func(b *v1beta2.EtcdBackup) bool { return b.Status.Succeeded })
	content, manifest := a.stored("two/good.db"), string(a.stored(snapshot.ManifestKey("two/good.db")))
	a.store.put(a.T, "two/other.db", content)
	a.store.put(a.T, snapshot.ManifestKey("two/other.db"), []byte(strings.Replace(manifest, `"`+a.cluster.Name+`"`, `"other"`, 1)))
	damaged := bytes.Clone(content)
	damaged[len(damaged)/2] ^= 1
	a.store.put(a.T, "damaged.db", damaged)

	path := filepath.Join(a.TempDir(), "newer.db")
	etcd := servers.Etcd(a.T, servers.EtcdOptions{Minor: "3.6"})
	if out, err := exec.CommandContext(a.Context(), servers.EtcdctlProgram(a, "3.6"), "--endpoints="+etcd.Endpoints()[0], "snapshot", "save", path).CombinedOutput(); err != nil {
		a.Fatalf("save a snapshot: %v\n%s", err, out)
	}
	newer, err := os.ReadFile(path)
	if err != nil {
		a.Fatal(err)
	}
	a.store.put(a.T, "newer.db", newer)
}

// stored returns an object of the store.
func (a *archived) stored(key string) []byte {
	a.Helper()
	content, err := os.ReadFile(filepath.Join(a.store.server.BucketDir(bucket), key))
	if err != nil {
		a.Fatal(err)
	}
	return content
}
