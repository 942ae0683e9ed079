package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// yearly is a schedule that is not due in any test.
const yearly = "0 0 29 2 *"

// snapshots of a series below a folder of the bench's bucket: keys of objects that have a manifest.
func (b *backupBench) snapshots(folder string) []string {
	b.Helper()
	var whole []string
	keys := b.keys(folder)
	has := map[string]bool{}
	for _, key := range keys {
		has[key] = true
	}
	for _, key := range keys {
		if has[key+".json"] {
			whole = append(whole, key)
		}
	}
	return whole
}

// edit changes an object until nobody is in between.
func (b *backupBench) edit(backup *v1beta2.EtcdBackup, change func()) {
	b.Helper()
	kubetest.Eventually(b, "the EtcdBackup is edited", func(ctx context.Context) error {
		if err := kubetest.Client(b).Get(ctx, client.ObjectKeyFromObject(backup), backup); err != nil {
			return err
		}
		change()
		return kubetest.Client(b).Update(ctx, backup)
	})
}

// forget empties the status. The operator that is stopped may have written once more.
func (b *backupBench) forget(backup *v1beta2.EtcdBackup) {
	b.Helper()
	kubetest.Eventually(b, "the status is emptied", func(ctx context.Context) error {
		if err := kubetest.Client(b).Get(ctx, client.ObjectKeyFromObject(backup), backup); err != nil {
			return err
		}
		backup.Status = v1beta2.EtcdBackupStatus{}
		return kubetest.Client(b).Status().Update(ctx, backup)
	})
}

func (b *backupBench) askNow(backup *v1beta2.EtcdBackup, value string) {
	b.Helper()
	b.edit(backup, func() { metav1.SetMetaDataAnnotation(&backup.ObjectMeta, v1beta2.AnnotationBackupNow, value) })
	kubetest.Await(b, backup, "satisfy the request "+value, func(backup *v1beta2.EtcdBackup) bool { return backup.Status.HandledRequest == value })
}

func TestBackupSchedule(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	etcd.Members[0].Put(t, "key", "value")
	b := newBackupBench(t)

	b.in("a series keeps what it should, proves each snapshot by restoring it, and goes with all it wrote", func(b *backupBench) {
		backup := b.backup("series", "backups/series", etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 1, MaxBackups: 2}
		backup.Spec.Verify, backup.Spec.DeletionPolicy = v1beta2.VerifyRestore, v1beta2.DeletionDelete
		kubetest.Create(b, backup)
		first := ""
		kubetest.Await(b, backup, "remove its first snapshot", func(backup *v1beta2.EtcdBackup) bool {
			if s := backup.Status.Snapshots; first == "" && len(s) > 0 {
				first = s[len(s)-1].Path
			}
			s := backup.Status.Snapshots
			return len(s) == 2 && s[1].Path != first
		})
		if d := backup.Status.LastDrill; d == nil || d.Result != v1beta2.DrillPassed || !d.Compared {
			b.Errorf("the newest was not proven by restoring it: %+v", d)
		}
		kubetest.AwaitCondition(b, backup, backupConditions, v1beta2.ConditionPruned, metav1.ConditionTrue, v1beta2.ReasonPruned)
		if got := b.snapshots("series/"); len(got) > 4 {
			b.Errorf("%q are there", got)
		}
		b.delete(backup)
		if got := b.keys("series/"); len(got) > 0 {
			b.Errorf("left %q", got)
		}
	})
	b.in("a snapshot that is asked for is taken once, and not again by the next operator", func(b *backupBench) {
		backup := b.backup("now", "backups/now", etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly, TimeZone: "Europe/Berlin"}
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonScheduled)
		if backup.Status.NextTime == nil || len(b.keys("now/")) > 0 {
			b.Errorf("a schedule took a snapshot before its time: %s", kubetest.YAML(backup))
		}
		b.askNow(backup, "first")
		b.stop()
		b.start()
		b.askNow(backup, "second")
		if got := b.snapshots("now/"); len(got) != 2 {
			b.Errorf("two requests made %q", got)
		}
	})
	b.in("a request is satisfied by what a killed operator had done for it", func(b *backupBench) {
		backup := b.backup("forgotten", "backups/forgotten", etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly, Suspend: true}
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonSuspended)
		b.askNow(backup, "once")
		b.stop()
		b.forget(backup)
		b.start()
		kubetest.Await(b, backup, "know its snapshot again", func(backup *v1beta2.EtcdBackup) bool {
			return backup.Status.HandledRequest == "once" && backup.Status.Snapshot != nil
		})
		if got := b.snapshots("forgotten/"); len(got) != 1 {
			b.Errorf("one request made %q", got)
		}
	})
	b.in("an unknown time zone is said, with what to write", func(b *backupBench) {
		backup := b.backup("zone", "backups/zone", etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly, TimeZone: "Europe/Bonn"}
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonInvalidSpec, "Europe/Berlin")
	})
	b.in("a drill tries the newest snapshot out, and tells of one that is broken", func(b *backupBench) {
		backup := b.backup("drilled", "backups/drilled.db", etcd.Endpoints()...)
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		path := b.server.BucketDir("backups") + "/drilled.db"
		content, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		content[len(content)/2] ^= 1
		if err := os.WriteFile(path, content, 0o600); err != nil {
			b.Fatal(err)
		}
		b.edit(backup, func() { backup.Spec.Verify = v1beta2.VerifyRestore })
		b.fails(backup, v1beta2.ReasonSnapshotCorrupt, "Do not restore from it")
		if d := backup.Status.LastDrill; d == nil || d.Result != v1beta2.DrillFailed {
			b.Errorf("%+v", d)
		}
	})
	b.in("a one-shot goes when its time is over, and its snapshot stays", func(b *backupBench) {
		backup := b.backup("brief", "backups/brief.db", etcd.Endpoints()...)
		seconds := int32(1)
		backup.Spec.TTLSecondsAfterFinished = &seconds
		kubetest.Create(b, backup)
		kubetest.AwaitGone(b, backup)
		if got := b.snapshots("brief.db"); len(got) != 1 {
			b.Errorf("its snapshot went with it: %q", got)
		}
	})
	b.in("a bucket that is gone does not hang the deletion, nor a Secret for those who change their mind", func(b *backupBench) {
		b.server.CreateBucket(b, "vanishing")
		lost, stuck := b.backup("lost", "vanishing/lost.db", etcd.Endpoints()...), b.backup("stuck", "backups/stuck.db", etcd.Endpoints()...)
		stuck.Spec.S3.AWSSecret = "vanishing"
		secret := b.secret("vanishing", b.bucket.Data)
		for _, backup := range []*v1beta2.EtcdBackup{lost, stuck} {
			backup.Spec.DeletionPolicy = v1beta2.DeletionDelete
		}
		kubetest.Create(b, secret, lost, stuck)
		b.ready(lost, metav1.ConditionTrue, v1beta2.ReasonComplete)
		b.ready(stuck, metav1.ConditionTrue, v1beta2.ReasonComplete)
		if err := os.RemoveAll(b.server.BucketDir("vanishing")); err != nil {
			b.Fatal(err)
		}
		b.delete(secret)
		b.delete(lost)
		if err := kubetest.Client(b).Delete(b.Context(), stuck); err != nil {
			b.Fatal(err)
		}
		kubetest.Await(b, stuck, "say how to let go", func(backup *v1beta2.EtcdBackup) bool {
			return strings.Contains(fmt.Sprint(backup.Status.Conditions), "write deletionPolicy: Retain")
		})
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"deletionPolicy":"Retain"}}`))
		if err := kubetest.Client(b).Patch(b.Context(), stuck, patch); err != nil && !apierrors.IsNotFound(err) {
			b.Fatal(err)
		}
		kubetest.AwaitGone(b, stuck)
		if got := b.snapshots("stuck.db"); len(got) != 1 {
			b.Errorf("the snapshot was not retained: %q", got)
		}
	})
}

func TestBackupWithoutQuorum(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{Size: 3})
	etcd.Members[0].Put(t, "key", "value")
	b := newBackupBench(t)
	etcd.Members[1].Kill()
	etcd.Members[2].Kill()

	b.in("is refused, and the message names the way out", func(b *backupBench) {
		backup := b.backup("refused", "backups/refused.db", etcd.Endpoints()...)
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonClusterNotAvailable, "noQuorum: Mark")
		if got := b.keys("refused"); len(got) > 0 {
			b.Errorf("stored %q", got)
		}
	})
	b.in("is taken with a mark in manifest and status where that is wanted", func(b *backupBench) {
		backup := b.backup("marked", "backups/marked.db", etcd.Endpoints()...)
		backup.Spec.NoQuorum = v1beta2.NoQuorumMark
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		if m := b.proven(backup, b.bucket).Manifest; !m.NoQuorum || !backup.Status.Snapshot.NoQuorum {
			b.Errorf("no mark: manifest %v, status %v", m.NoQuorum, backup.Status.Snapshot.NoQuorum)
		}
	})
}
