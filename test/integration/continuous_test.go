package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// archivedTo waits until the last range of the EtcdBackup ends with a revision or a later one.
func (b *backupBench) archivedTo(backup *v1beta2.EtcdBackup, revision int64) {
	b.Helper()
	kubetest.Await(b, backup, fmt.Sprintf("archive revision %d", revision), func(backup *v1beta2.EtcdBackup) bool {
		n := len(backup.Status.Recoverable)
		return n > 0 && backup.Status.Recoverable[n-1].To.Revision >= revision
	})
}

// storedTo waits until the archive in the store ends with a revision. The status shows that a few seconds later.
func (b *backupBench) storedTo(folder string, revision int64) {
	b.Helper()
	kubetest.Eventually(b, fmt.Sprintf("revision %d is in the store", revision), func(ctx context.Context) error {
		histories, err := archive.Read(ctx, open(b.T, b.bucket), b.archiveRoot(folder))
		if err != nil {
			return err
		}
		for _, h := range histories {
			for _, l := range h.Links {
				if l.Header.Last >= revision {
					return nil
				}
			}
		}
		return fmt.Errorf("the archive has %d timelines without it", len(histories))
	})
}

func (b *backupBench) archiveRoot(folder string) string {
	return archive.Root(folder, b.namespace, folder)
}

func TestContinuousArchive(t *testing.T) {
	t.Parallel()
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	kv, err := clientv3.New(clientv3.Config{Endpoints: etcd.Endpoints(), DialTimeout: 3 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kv.Close() })
	put := func(n int) (revision int64) {
		for i := range n {
			answer, err := kv.Put(t.Context(), fmt.Sprint("key-", i), "value")
			if err != nil {
				t.Fatal(err)
			}
			revision = answer.Header.Revision
		}
		return revision
	}
	put(10)
	b := newBackupBench(t)
	var requests atomic.Int64
	proxy := servers.NewFaulty(t, b.server.Endpoint, func(int, *http.Request) servers.Fault { requests.Add(1); return servers.Served })

	series := b.backup("pit", "backups/pit", etcd.Endpoints()...)
	series.Spec.S3.Endpoint = proxy.URL
	series.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly, MaxBackups: 1}
	series.Spec.Continuous = &v1beta2.ContinuousArchive{MaxLag: "1s"}
	series.Spec.Compression, series.Spec.DeletionPolicy = v1beta2.CompressionZstd, v1beta2.DeletionDelete

	b.in("takes a base at once, although no snapshot is due, and archives the next changes", func(b *backupBench) {
		kubetest.Create(b, series)
		kubetest.AwaitCondition(b, series, backupConditions, v1beta2.ConditionArchiving, metav1.ConditionTrue, v1beta2.ReasonArchiving)
		b.archivedTo(series, 11)
		if got := b.snapshots("pit/"); len(got) != 1 {
			b.Errorf("the archive began with the snapshots %q, want one", got)
		}
		b.storedTo("pit", put(20))
	})
	b.in("an idle cluster costs no request to the store and no write of the status within a minute", func(b *backupBench) {
		put(1)
		_, revision := etcd.Members[0].All(b)
		b.archivedTo(series, revision)
		written := &v1beta2.EtcdBackup{}
		if err := kubetest.Client(b).Get(b.Context(), client.ObjectKeyFromObject(series), written); err != nil {
			b.Fatal(err)
		}
		before := requests.Load()
		watched, cancel := context.WithTimeout(b.Context(), 8*time.Second)
		defer cancel()
		<-watched.Done() // eight times maxLag
		if n := requests.Load() - before; n > 0 {
			b.Errorf("an idle cluster cost %d requests to the store", n)
		}
		after := &v1beta2.EtcdBackup{}
		if err := kubetest.Client(b).Get(b.Context(), client.ObjectKeyFromObject(series), after); err != nil {
			b.Fatal(err)
		}
		n := len(after.Status.Recoverable)
		if n == 0 || after.ResourceVersion != written.ResourceVersion && after.Status.Recoverable[n-1].To.Time.Sub(written.Status.Recoverable[n-1].To.Time.Time) < time.Minute {
			b.Errorf("the status was written within a minute, from %+v to %+v", written.Status.Recoverable, after.Status.Recoverable)
		}
	})
	b.in("a restarted operator continues the same timeline at the end of the stored archive", func(b *backupBench) {
		b.stop()
		revision := put(20)
		b.start()
		b.storedTo("pit", revision)
		if r := series.Status.Recoverable; len(r) != 1 || r[0].Timeline != 1 || r[0].From.Revision != 11 {
			b.Errorf("the ranges are %+v, want one from revision 11", r)
		}
		if got := b.snapshots("pit/"); len(got) != 1 {
			b.Errorf("a restart took another snapshot: %q", got)
		}
	})
	b.in("a compaction beyond the archive is reported as a gap, and a base is taken at once", func(b *backupBench) {
		_, end := etcd.Members[0].All(b)
		b.stop()
		revision := put(20)
		if _, err := kv.Compact(b.Context(), revision-3); err != nil {
			b.Fatal(err)
		}
		b.start()
		kubetest.Await(b, series, "report two ranges", func(backup *v1beta2.EtcdBackup) bool { return len(backup.Status.Recoverable) == 2 })
		if r := series.Status.Recoverable; r[0].To.Revision != end || r[1].From.Revision < revision || r[1].Timeline != 1 {
			b.Errorf("the ranges are %+v, want a gap from revision %d to %d", r, end+1, revision)
		}
		if got := b.snapshots("pit/"); len(got) != 2 {
			b.Errorf("the store has the snapshots %q, want two: the window keeps the older one", got)
		}
		b.storedTo("pit", put(5))
		kubetest.Eventually(b, "there is an event ChangesLost", func(ctx context.Context) error {
			var events eventsv1.EventList
			if err := kubetest.Client(b).List(ctx, &events, client.InNamespace(b.namespace)); err != nil {
				return err
			}
			if !slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool { return e.Reason == "ChangesLost" && e.Regarding.Name == "pit" }) {
				return fmt.Errorf("none of %d events", len(events.Items))
			}
			return nil
		})
	})
	b.in("each snapshot proves the archive since the previous one, and damage is reported", func(b *backupBench) { proveArchive(b, series, put) })
	b.in("no object of the archive counts as a snapshot", func(b *backupBench) {
		for _, key := range b.keys("") {
			if strings.HasPrefix(key, "continuous-archive/") == strings.HasPrefix(key, "pit/") {
				b.Errorf("the key %s is in no folder that it should be in", key)
			}
		}
	})
	b.in("a suspended series archives nothing, and continues", func(b *backupBench) {
		b.edit(series, func() { series.Spec.BackupPolicy.Suspend = true })
		kubetest.AwaitCondition(b, series, backupConditions, v1beta2.ConditionArchiving, metav1.ConditionFalse, v1beta2.ReasonSuspended)
		revision := put(3)
		b.edit(series, func() { series.Spec.BackupPolicy.Suspend = false })
		b.storedTo("pit", revision)
		kubetest.AwaitCondition(b, series, backupConditions, v1beta2.ConditionArchiving, metav1.ConditionTrue, v1beta2.ReasonArchiving)
	})
	b.in("the archive is deleted with its EtcdBackup", func(b *backupBench) {
		b.delete(series)
		if got := b.keys(""); len(got) > 0 {
			b.Errorf("the store still has %q", got)
		}
	})
	b.in("a single snapshot cannot have an archive", func(b *backupBench) {
		single := b.backup("single", "backups/single.db", etcd.Endpoints()...)
		single.Spec.Continuous = &v1beta2.ContinuousArchive{}
		if err := kubetest.Client(b).Create(b.Context(), single); err == nil || !strings.Contains(err.Error(), "continuous requires a series") {
			b.Errorf("got %v", err)
		}
		short := b.backup("short", "backups/short", etcd.Endpoints()...)
		short.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly}
		short.Spec.Continuous = &v1beta2.ContinuousArchive{MaxLag: "500ms", Window: "30m"}
		if err := kubetest.Client(b).Create(b.Context(), short); err == nil || !strings.Contains(err.Error(), "maxLag must be 1s to 10m") || !strings.Contains(err.Error(), "window must be at least 1h") {
			b.Errorf("got %v", err)
		}
	})
}

func TestContinuousArchiveOfAClusterWithUsers(t *testing.T) {
	t.Parallel()
	etcd := servers.Etcd(t, servers.EtcdOptions{Minor: "3.5", Size: 3})
	etcd.Members[0].AddUser(t, "root", "secret", true)
	etcd.Members[0].Put(t, "key", "value")
	etcd.Members[0].EnableAuth(t)
	kv, err := clientv3.New(clientv3.Config{Endpoints: etcd.Endpoints(), DialTimeout: time.Minute, Username: "root", Password: "secret", Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kv.Close() })
	put := func() (revision int64) { // the leader may have been killed
		kubetest.Eventually(t, "the cluster takes a write", func(ctx context.Context) error {
			limited, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			answer, err := kv.Put(limited, "key", "value")
			if err == nil {
				revision = answer.Header.Revision
			}
			return err
		})
		return revision
	}
	b := newBackupBench(t)
	kubetest.Create(b, b.secret("user", map[string][]byte{v1beta2.AuthUsernameKey: []byte("root\n"), v1beta2.AuthPasswordKey: []byte("secret\n"), "endpoints": []byte(strings.Join(etcd.Endpoints(), ","))}))
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	series := b.backup("users", "backups/users", etcd.Endpoints()...)
	series.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: yearly}
	series.Spec.Continuous = &v1beta2.ContinuousArchive{MaxLag: "1s"}
	series.Spec.ClientAuthSecret = "user"
	series.Spec.Encryption = &v1beta2.Encryption{Age: v1beta2.AgeEncryption{Recipients: []string{identity.Recipient().String()}}}
	kubetest.Create(b, series)
	kubetest.AwaitCondition(b, series, backupConditions, v1beta2.ConditionArchiving, metav1.ConditionTrue, v1beta2.ReasonArchiving)
	b.storedTo("users", put())
	etcd.Members[2].Kill() // the watch may be on it
	b.storedTo("users", put())
	if _, err := kv.UserAdd(t.Context(), "another", "secret"); err != nil {
		t.Fatal(err)
	}
	last := put()
	b.storedTo("users", last)
	kubetest.Await(b, series, "report a range after the change of users", func(backup *v1beta2.EtcdBackup) bool {
		n := len(backup.Status.Recoverable)
		return n > 1 && backup.Status.Recoverable[n-1].To.Revision >= last
	})
	if got := b.snapshots("users/"); len(got) != 2 {
		t.Errorf("the snapshots are %q, want one more after the change of users", got)
	}
	histories, err := archive.Read(t.Context(), open(t, b.bucket), b.archiveRoot("users"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range histories[0].Links {
		if !l.Header.Gap() && l.Header.Encryption != codec.Age {
			t.Errorf("the segment %s is not encrypted", l.Key)
		}
	}
}
