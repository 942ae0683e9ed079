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

// yearly is a schedule that is due on 29 February only.
const yearly = "0 0 29 2 *"

// snapshots returns the keys below a folder of the bench's bucket that have a manifest.
func (b *backupBench) snapshots(folder string) []string {
	b.Helper()
	var complete []string
	keys := b.keys(folder)
	has := map[string]bool{}
	for _, key := range keys {
		has[key] = true
	}
	for _, key := range keys {
		if has[key+".json"] {
			complete = append(complete, key)
		}
	}
	return complete
}

// edit changes an object. It retries if another client changed the object meanwhile.
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

// forget removes the status. It retries because the stopped operator may have written once more.
func (b *backupBench) forget(backup *v1beta2.EtcdBackup) {
	b.Helper()
	kubetest.Eventually(b, "the status is removed", func(ctx context.Context) error {
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

func TestScheduledBackupsAreVerifiedPrunedAndTakenOnRequest(t *testing.T) {
	t.Parallel()
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	etcd.Members[0].Put(t, "key", "value")
	b := newBackupBench(t)

	b.in("a series is pruned, verified by restore tests, and deleted with its snapshots", func(b *backupBench) {
		backup := b.backup("series", "backups/series", etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 1, MaxBackups: 2}
		backup.Spec.Verify, backup.Spec.DeletionPolicy = v1beta2.VerifyRestore, v1beta2.DeletionDelete
		kubetest.Create(b, backup)
		first := ""
		kubetest.Await(b, backup, "delete its first snapshot", func(backup *v1beta2.EtcdBackup) bool {
			if s := backup.Status.Snapshots; first == "" && len(s) > 0 {
				first = s[len(s)-1].Path
			}
			s := backup.Status.Snapshots
			return len(s) == 2 && s[1].Path != first
		})
		if d := backup.Status.LastDrill; d == nil || d.Result != v1beta2.DrillPassed || !d.Compared {
			b.Errorf("the restore test of the newest snapshot did not pass: %+v", d)
		}
		kubetest.AwaitCondition(b, backup, backupConditions, v1beta2.ConditionPruned, metav1.ConditionTrue, v1beta2.ReasonPruned)
		if got := b.snapshots("series/"); len(got) > 4 {
			b.Errorf("the series was not pruned to 2 snapshots: %q", got)
		}
		b.delete(backup)
		if got := b.keys("series/"); len(got) > 0 {
			b.Errorf("the deleted series left the objects %q", got)
		}
	})
	b.in("a requested snapshot is taken once, also if the operator restarts", func(b *backupBench) {
		backup := b.backup("now", "backups/now", etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly, TimeZone: "Europe/Berlin"}
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonScheduled)
		if backup.Status.NextTime == nil || len(b.keys("now/")) > 0 {
			b.Errorf("the schedule took a snapshot too early, or reports no next time: %s", kubetest.YAML(backup))
		}
		b.askNow(backup, "first")
		b.stop()
		b.start()
		b.askNow(backup, "second")
		if got := b.snapshots("now/"); len(got) != 2 {
			b.Errorf("two requests created the snapshots %q, expected two", got)
		}
	})
	b.in("a request is not repeated if the operator is killed before it writes the status", func(b *backupBench) {
		backup := b.backup("forgotten", "backups/forgotten", etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly, Suspend: true}
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonSuspended)
		b.askNow(backup, "once")
		b.stop()
		b.forget(backup)
		b.start()
		kubetest.Await(b, backup, "report its snapshot again", func(backup *v1beta2.EtcdBackup) bool {
			return backup.Status.HandledRequest == "once" && backup.Status.Snapshot != nil
		})
		if got := b.snapshots("forgotten/"); len(got) != 1 {
			b.Errorf("one request created the snapshots %q, expected one", got)
		}
	})
	b.in("an unknown time zone is reported with an example", func(b *backupBench) {
		backup := b.backup("zone", "backups/zone", etcd.Endpoints()...)
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly, TimeZone: "Europe/Bonn"}
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonInvalidSpec, "Europe/Berlin")
	})
	b.in("a restore test reports a corrupt snapshot", func(b *backupBench) {
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
			b.Errorf("the status does not report a failed restore test: %+v", d)
		}
	})
	b.in("a one-shot backup is deleted after its TTL, and its snapshot is kept", func(b *backupBench) {
		backup := b.backup("brief", "backups/brief.db", etcd.Endpoints()...)
		seconds := int32(1)
		backup.Spec.TTLSecondsAfterFinished = &seconds
		kubetest.Create(b, backup)
		kubetest.AwaitGone(b, backup)
		if got := b.snapshots("brief.db"); len(got) != 1 {
			b.Errorf("the snapshot was deleted with the EtcdBackup: %q", got)
		}
	})
	b.in("a deletion completes if the bucket is missing, or if the user sets Retain after the Secret was deleted", func(b *backupBench) {
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
		kubetest.Await(b, stuck, "report how to complete the deletion", func(backup *v1beta2.EtcdBackup) bool {
			return strings.Contains(fmt.Sprint(backup.Status.Conditions), "write deletionPolicy: Retain")
		})
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"deletionPolicy":"Retain"}}`))
		if err := kubetest.Client(b).Patch(b.Context(), stuck, patch); err != nil && !apierrors.IsNotFound(err) {
			b.Fatal(err)
		}
		kubetest.AwaitGone(b, stuck)
		if got := b.snapshots("stuck.db"); len(got) != 1 {
			b.Errorf("the snapshot was deleted although deletionPolicy is Retain: %q", got)
		}
	})
}

func TestBackupWithoutQuorumNeedsConsent(t *testing.T) {
	t.Parallel()
	etcd := servers.Etcd(t, servers.EtcdOptions{Size: 3})
	etcd.Members[0].Put(t, "key", "value")
	b := newBackupBench(t)
	etcd.Members[1].Kill()
	etcd.Members[2].Kill()

	b.in("is refused by default, and the message names the option", func(b *backupBench) {
		backup := b.backup("refused", "backups/refused.db", etcd.Endpoints()...)
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonClusterNotAvailable, "noQuorum: Mark")
		if got := b.keys("refused"); len(got) > 0 {
			b.Errorf("the refused backup stored %q", got)
		}
	})
	b.in("is taken and marked in manifest and status if noQuorum is Mark", func(b *backupBench) {
		backup := b.backup("marked", "backups/marked.db", etcd.Endpoints()...)
		backup.Spec.NoQuorum = v1beta2.NoQuorumMark
		kubetest.Create(b, backup)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		if m := b.fetchReported(backup, b.bucket).Manifest; !m.NoQuorum || !backup.Status.Snapshot.NoQuorum {
			b.Errorf("the snapshot is not marked as taken without quorum: manifest %v, status %v", m.NoQuorum, backup.Status.Snapshot.NoQuorum)
		}
	})
}
