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

func TestBackupReportsFailuresAndRetries(t *testing.T) {
	t.Parallel()
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	etcdctl(t, "3.6", etcd, "put", "key", "value")
	b := newBackupBench(t)

	b.in("waits for a missing Secret and continues when it exists", func(b *backupBench) {
		backup := b.backup("no-secret", "backups/no-secret.db", etcd.Endpoints()...)
		backup.Spec.S3.AWSSecret = "late"
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonSecretMissing, "create Secret late in namespace "+b.namespace)
		kubetest.Create(b, b.secret("late", b.bucket.Data))
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	b.in("reports a Secret without credentials", func(b *backupBench) {
		backup := b.backup("empty-secret", "backups/empty-secret.db", etcd.Endpoints()...)
		backup.Spec.S3.AWSSecret = "empty"
		kubetest.Create(b, b.secret("empty", nil), backup)
		b.fails(backup, v1beta2.ReasonAccessDenied, "access-key-id")
	})
	// Defect 19: the archived operator never retried.
	b.in("retries until the bucket exists", func(b *backupBench) {
		backup := b.backup("no-bucket", "late-bucket/one.db", etcd.Endpoints()...)
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonBucketNotFound, "Create the bucket late-bucket", "The next attempt is due at")
		b.server.CreateBucket(b, "late-bucket")
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		if backup.Status.Attempts < 2 {
			b.Errorf("the status reports %d attempts", backup.Status.Attempts)
		}
	})
	b.in("reports the endpoints that do not respond, and the errors", func(b *backupBench) {
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
	b.in("reports the Secret whose identity the store refuses", func(b *backupBench) {
		wrong := map[string][]byte{"access-key-id": []byte(b.server.AccessKey), "secret-access-key": []byte("wrong")}
		backup := b.backup("denied", "backups/denied.db", etcd.Endpoints()...)
		backup.Spec.S3.AWSSecret = "wrong"
		kubetest.Create(b, b.secret("wrong", wrong), backup)
		b.fails(backup, v1beta2.ReasonAccessDenied, "the identity in Secret wrong")
	})
	b.in("reports a store that cannot be reached", func(b *backupBench) {
		backup := b.backup("no-store", "backups/no-store.db", etcd.Endpoints()...)
		backup.Spec.S3.Endpoint = "http://127.0.0.1:1"
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonStoreUnreachable, "127.0.0.1:1", "connection refused")
	})
	b.in("succeeds at the first attempt with a store that breaks most requests", func(b *backupBench) {
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
		b.fetchReported(backup, b.bucket)
		if backup.Status.Attempts != 1 {
			b.Errorf("the status reports %d attempts", backup.Status.Attempts)
		}
	})
	// Defect 21: the archived operator overwrote an existing object.
	b.in("stalls and keeps an existing object", func(b *backupBench) {
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
			b.Errorf("the backup changed an existing object: its content is %q, error %v", content, err)
		}
		backup.Spec.S3.Path = "backups/other"
		if err := kubetest.Client(b).Update(b.Context(), backup); err != nil {
			b.Fatal(err)
		}
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	// Defect 6: an unknown storage type crashed the archived operator, so all backups stopped.
	b.in("an invalid spec stalls only its own EtcdBackup", func(b *backupBench) {
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
	// Defect 23: an EtcdBackup with a finalizer of the archived operator could not be deleted.
	b.in("removes the finalizer of the archived operator from a deleted EtcdBackup", func(b *backupBench) {
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

func TestBackupSeriesKeepsItsIntervalAndRetention(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	b := newBackupBench(t)
	series := func(name, path string, seconds int64, keep int) *v1beta2.EtcdBackup {
		backup := b.backup(name, path, etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: seconds, MaxBackups: keep}
		kubetest.Create(b, backup)
		return backup
	}
	// Defect 4: the archived operator took the first snapshot after a whole interval, and each restart began a new one.
	b.in("takes the first snapshot at once, and no early one after a restart or the loss of the status", func(b *backupBench) {
		backup := series("hourly", "backups/hourly", 3600, 0)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonScheduled)
		b.fetchReported(backup, b.bucket)
		first, next := backup.Status.Snapshot.Path, backup.Status.NextTime
		b.stop()
		b.delete(backup)
		b.start()
		backup = series("hourly", "backups/hourly", 3600, 0)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonScheduled)
		if got := b.keys("hourly/"); len(got) != 2 || backup.Status.Snapshot.Path != first || !backup.Status.NextTime.Equal(next) {
			b.Errorf("the restart changed the schedule: keys %q, newest snapshot %s, next %s; before the restart %s and %s", got, backup.Status.Snapshot.Path, backup.Status.NextTime, first, next)
		}
	})
	// Defect 2: the archived operator deleted objects by the order of their names, also objects of other backups.
	b.in("keeps its newest snapshots and all foreign objects", func(b *backupBench) {
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
		b.stop() // so that no snapshot is added during the checks
		kubetest.Await(b, backup, "exist", func(*v1beta2.EtcdBackup) bool { return true })
		var snapshots []string
		for _, key := range b.keys("many/") {
			if strings.HasSuffix(key, ".db") {
				snapshots = append(snapshots, "backups/"+key)
			}
		}
		if len(snapshots) < 2 || len(snapshots) > 3 || snapshots[len(snapshots)-1] < backup.Status.Snapshot.Path {
			b.Errorf("the store has the snapshots %q, expected 2 or 3 with the newest, %s", snapshots, backup.Status.Snapshot.Path)
		}
		for _, prefix := range []string{"many.db", "many-others/", "many/" + b.namespace + "/many/notes"} {
			if len(b.keys(prefix)) == 0 {
				b.Errorf("the series deleted a foreign object with the prefix %s", prefix)
			}
		}
		b.start()
	})
}
