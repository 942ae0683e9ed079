package integration

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

func TestBackupFaults(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	etcdctl(t, "3.6", etcd, "put", "key", "value")
	b := newBackupBench(t)

	b.in("waits for a Secret and goes on when it is there", func(b *backupBench) {
		backup := b.backup("no-secret", "backups/no-secret.db", etcd.Endpoints()...)
		backup.Spec.S3.AWSSecret = "late"
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonSecretMissing, "create Secret late in namespace "+b.namespace)
		kubetest.Create(b, b.secret("late", b.bucket.Data))
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	b.in("names a Secret without credentials", func(b *backupBench) {
		backup := b.backup("empty-secret", "backups/empty-secret.db", etcd.Endpoints()...)
		backup.Spec.S3.AWSSecret = "empty"
		kubetest.Create(b, b.secret("empty", nil), backup)
		b.fails(backup, v1beta2.ReasonAccessDenied, "access-key-id")
	})
	// Defect 19: the first failure was final.
	b.in("tries again until the bucket is there", func(b *backupBench) {
		backup := b.backup("no-bucket", "late-bucket/one.db", etcd.Endpoints()...)
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonBucketNotFound, "create the bucket late-bucket", "the next is due at")
		b.server.CreateBucket(b, "late-bucket")
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		if backup.Status.Attempts < 2 {
			b.Errorf("%d attempts", backup.Status.Attempts)
		}
	})
	b.in("names the endpoints that do not answer, and why", func(b *backupBench) {
		backup := b.backup("unreachable", "backups/unreachable.db", "http://127.0.0.1:1", "http://127.0.0.1:2")
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonEndpointUnreachable, "http://127.0.0.1:1", "http://127.0.0.1:2", "connection refused")
	})
	b.in("refuses endpoints of two clusters", func(b *backupBench) {
		other := servers.Etcd(b, servers.EtcdOptions{})
		backup := b.backup("two-clusters", "backups/two-clusters.db", append(other.Endpoints(), etcd.Endpoints()...)...)
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonInvalidSpec, "different etcd clusters")
	})
	b.in("says whom the store refuses", func(b *backupBench) {
		wrong := map[string][]byte{"access-key-id": []byte(b.server.AccessKey), "secret-access-key": []byte("wrong")}
		backup := b.backup("denied", "backups/denied.db", etcd.Endpoints()...)
		backup.Spec.S3.AWSSecret = "wrong"
		kubetest.Create(b, b.secret("wrong", wrong), backup)
		b.fails(backup, v1beta2.ReasonAccessDenied, "the identity in Secret wrong")
	})
	b.in("says that the store cannot be reached", func(b *backupBench) {
		backup := b.backup("no-store", "backups/no-store.db", etcd.Endpoints()...)
		backup.Spec.S3.Endpoint = "http://127.0.0.1:1"
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonStoreUnreachable, "127.0.0.1:1", "connection refused")
	})
	b.in("gets through a store that falters, at the first attempt", func(b *backupBench) {
		proxy := servers.NewFaulty(b, b.server.Endpoint, func(n int, _ *http.Request) servers.Fault {
			if n%3 == 0 {
				return servers.Served
			}
			return []servers.Fault{servers.Unavailable, servers.ResetInBody, servers.TooMany, servers.ResetAtOnce}[n%4]
		})
		backup := b.backup("falters", "backups/falters.db", etcd.Endpoints()...)
		backup.Spec.S3.Endpoint = proxy.URL
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		b.proven(backup, b.bucket)
		if backup.Status.Attempts != 1 {
			b.Errorf("%d attempts", backup.Status.Attempts)
		}
	})
	// Defect 21: an existing object was overwritten.
	b.in("keeps an object that exists, and stalls", func(b *backupBench) {
		store := open(b.T, b.bucket)
		if err := store.Put(b.Context(), "mine", strings.NewReader("my bytes")); err != nil {
			b.Fatal(err)
		}
		backup := b.backup("exists", "backups/mine", etcd.Endpoints()...)
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonObjectExists, "choose another path")
		kubetest.AwaitCondition(b, backup, backupConditions, v1beta2.ConditionStalled, metav1.ConditionTrue, v1beta2.ReasonObjectExists)
		body, err := store.Get(b.Context(), "mine")
		if err != nil {
			b.Fatal(err)
		}
		defer body.Close()
		if content, err := io.ReadAll(body); err != nil || !bytes.Equal(content, []byte("my bytes")) {
			b.Errorf("the object is %q now, error %v", content, err)
		}
		backup.Spec.S3.Path = "backups/other"
		if err := kubetest.Client(b).Update(b.Context(), backup); err != nil {
			b.Fatal(err)
		}
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	// Defect 6: an unknown storage type ended the operator, for everybody.
	b.in("a spec that can never work stalls itself and nobody else", func(b *backupBench) {
		oss := b.backup("oss", "", etcd.Endpoints()...)
		oss.Spec.StorageType = v1beta2.StorageOSS
		oss.Spec.Storage = v1beta2.Storage{OSS: &v1beta2.OSSSource{Path: "bucket/key"}}
		path := b.backup("path", "no-key", etcd.Endpoints()...)
		good := b.backup("good", "backups/good.db", etcd.Endpoints()...)
		kubetest.Create(b, oss, path, good)
		b.fails(oss, v1beta2.ReasonStorageNotSupported, "S3-compatible endpoint")
		b.fails(path, v1beta2.ReasonInvalidSpec, "<bucket>/<key>")
		kubetest.AwaitCondition(b, path, backupConditions, v1beta2.ConditionStalled, metav1.ConditionTrue, v1beta2.ReasonInvalidSpec)
		b.ready(good, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	// Defect 23: what coreos/etcd-operator left behind could not be deleted.
	b.in("lets go of an EtcdBackup that the archived operator held", func(b *backupBench) {
		b.stop()
		backup := b.backup("held", "backups/held", etcd.Endpoints()...)
		backup.Finalizers = []string{"backup-operator-periodic"}
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
		kubetest.Create(b, backup)
		if err := kubetest.Client(b).Delete(b.Context(), backup); err != nil {
			b.Fatal(err)
		}
		b.start()
		kubetest.AwaitGone(b, backup)
	})
}

func TestBackupSeries(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	b := newBackupBench(t)
	series := func(name, path string, seconds int64, keep int) *v1beta2.EtcdBackup {
		backup := b.backup(name, path, etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: seconds, MaxBackups: keep}
		kubetest.Create(b, backup)
		return backup
	}
	// Defect 4: the first snapshot came after a whole interval, and each restart began another one.
	b.in("takes the first snapshot at once, and none early after a restart or a lost status", func(b *backupBench) {
		backup := series("hourly", "backups/hourly", 3600, 0)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonScheduled)
		b.proven(backup, b.bucket)
		first, next := backup.Status.Snapshot.Path, backup.Status.NextTime
		b.stop()
		b.delete(backup)
		b.start()
		backup = series("hourly", "backups/hourly", 3600, 0)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonScheduled)
		if got := b.keys("hourly/"); len(got) != 2 || backup.Status.Snapshot.Path != first || !backup.Status.NextTime.Equal(next) {
			b.Errorf("keys %q, newest %s, next %s and before %s and %s", got, backup.Status.Snapshot.Path, backup.Status.NextTime, first, next)
		}
	})
	// Defect 2: what was removed was chosen by the order of names, beyond the series' own.
	b.in("keeps the newest of its own and touches no other's", func(b *backupBench) {
		store := open(b.T, b.bucket)
		for _, key := range []string{"many.db", "many-others/x.db", "many/" + b.namespace + "/many/notes.txt"} {
			if err := store.Put(b.Context(), key, strings.NewReader("mine")); err != nil {
				b.Fatal(err)
			}
		}
		backup := series("many", "backups/many", 1, 2)
		taken := map[string]bool{}
		kubetest.Await(b, backup, "take five snapshots", func(backup *v1beta2.EtcdBackup) bool {
			if s := backup.Status.Snapshot; s != nil {
				taken[s.Path] = true
			}
			return len(taken) == 5
		})
		b.stop() // nothing is added while it is looked at
		kubetest.Await(b, backup, "be there", func(*v1beta2.EtcdBackup) bool { return true })
		var snapshots []string
		for _, key := range b.keys("many/") {
			if strings.HasSuffix(key, ".db") {
				snapshots = append(snapshots, "backups/"+key)
			}
		}
		if len(snapshots) < 2 || len(snapshots) > 3 || snapshots[len(snapshots)-1] < backup.Status.Snapshot.Path {
			b.Errorf("kept %q, the newest told is %s", snapshots, backup.Status.Snapshot.Path)
		}
		for _, prefix := range []string{"many.db", "many-others/", "many/" + b.namespace + "/many/notes"} {
			if len(b.keys(prefix)) == 0 {
				b.Errorf("what begins with %s was removed", prefix)
			}
		}
		b.start()
	})
}
