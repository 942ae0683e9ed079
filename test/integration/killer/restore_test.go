package killer_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/restore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
	"github.com/etcd-suite/etcd-operator/test/integration/sweep"
)

// TestRestoreCompletesOrChangesNothingIfTheOperatorsAreKilledAtEveryCall kills cluster-operator and restore-operator
// before and after each of their API writes and calls of etcd. After every kill, clients must see either all of the old
// data or all of the snapshot's data, and never the old data after the snapshot's.
func TestRestoreCompletesOrChangesNothingIfTheOperatorsAreKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: newer})
	kubetest.Create(t, b.cluster, store.secret(b.cluster.Namespace))
	stop := b.traffic.run()
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	b.traffic.awaitWrite()
	stop()
	b.traffic.check()
	saved := b.contents()
	store.put(t, "good.db", b.save())
	kubetest.Eventually(t, "a key is written", func(ctx context.Context) error {
		before := b.traffic.count()
		if b.traffic.write(ctx); b.traffic.count() == before {
			return errors.New("the write was not acknowledged")
		}
		return nil
	})
	now, original := b.contents(), b.cluster.Status.ClusterID
	var safety *v1beta2.SafetySnapshotStatus

	b.step("nothing changes if the snapshot is deleted before the seed reads it", func(b *bench) {
		store.put(t, "gone.db", b.save())
		r := store.restore(b.cluster, "gone", "gone.db")
		kubetest.Create(b, r)
		b.verify(r)
		store.remove(t, "gone.db")
		b.restoring(now, now, func() error { return errors.Join(b.isReady(), b.is(r, v1beta2.ConditionFailed)) })
		b.statusNames("snapshot-gone", "EtcdRestore gone: SeedFailed", "apply an EtcdRestore of another name")
		if b.cluster.Status.ClusterID != original {
			b.Errorf("the failed restore changed the cluster ID from %s to %s", original, b.cluster.Status.ClusterID)
		}
	})
	b.step("a restore in place completes", func(b *bench) {
		r := store.restore(b.cluster, "good", "good.db")
		r.Spec.SafetySnapshot = v1beta2.SafetySnapshotExact // so that kills meet the longest time behind the fence, too
		kubetest.Create(b, r)
		b.restoring(now, saved, func() error { return errors.Join(b.isReady(), b.is(r, v1beta2.ConditionComplete)) })
		if id := b.cluster.Status.ClusterID; id == original || id != r.Status.ClusterID {
			b.Errorf("the cluster ID is %s, was %s before the restore, and the EtcdRestore reports %s", id, original, r.Status.ClusterID)
		}
		safety = r.Status.SafetySnapshot
		if taken := store.safetySnapshots(t); safety == nil || len(taken) != 1 || bucket+"/"+taken[0] != safety.Path {
			t.Fatalf("the status reports the safety snapshot %+v, and the store has %q", safety, taken)
		}
	})
	b.step("the same restore is refused if it comes back", func(b *bench) {
		r := store.restore(b.cluster, "good", "good.db")
		b.deleteRestore("good")
		kubetest.Create(b, r)
		id := b.cluster.Status.ClusterID
		b.refusing(r)
		if err := b.isReady(); err != nil || b.cluster.Status.ClusterID != id || !maps.Equal(b.contents(), saved) {
			b.Errorf("the refused restore changed the cluster: %v, ID %s, was %s", err, b.cluster.Status.ClusterID, id)
		}
	})
	b.step("the safety snapshot brings the data back", func(b *bench) {
		r := store.restore(b.cluster, "back-again", strings.TrimPrefix(safety.Path, bucket+"/"))
		kubetest.Create(b, r)
		b.restoring(saved, now, func() error { return errors.Join(b.isReady(), b.is(r, v1beta2.ConditionComplete)) })
	})
	b.step("a restore of a cluster that has lost its quorum completes", func(b *bench) {
		for _, m := range b.cluster.Status.MemberStatuses {
			if m.Role != v1beta2.MemberLeader {
				b.delete(&corev1.PersistentVolumeClaim{}, m.Name)
				b.delete(&corev1.Pod{}, m.Name)
			}
		}
		b.operate(&killer.Count{}, "report the lost quorum", func() error { return b.says(v1beta2.ReasonQuorumLost, "") })
		r := store.restore(b.cluster, "without-quorum", "good.db")
		kubetest.Create(b, r)
		b.restoring(now, saved, func() error { return errors.Join(b.isReady(), b.is(r, v1beta2.ConditionComplete)) })
	})
	b.step("a restore into a cluster that is created together with it completes", func(b *bench) {
		b.cluster = &v1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.cluster.Namespace, Name: "another"},
			Spec:       v1beta2.EtcdClusterSpec{Size: 1, Version: newer},
		}
		b.traffic = newTraffic(b)
		r := store.restore(b.cluster, "another", "good.db")
		kubetest.Create(b, r, b.cluster)
		b.restoring(saved, saved, func() error { return errors.Join(b.isReady(), b.is(r, v1beta2.ConditionComplete)) })
	})
}

// refusing runs both operators, and kills them at every call, until a restore is refused.
func (b *bench) refusing(r *v1beta2.EtcdRestore) {
	b.Helper()
	var chain killer.Chain
	restorer := b.restoreOperator(&chain)
	b.operate(&killer.Chain{}, "refuse the restore", func() error { restorer.restart(); return b.is(r, v1beta2.ConditionFailed) })
	restorer.stop()
	if failed := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionFailed); failed.Reason != v1beta2.ReasonRestoreRefused {
		b.Errorf("the restore failed with %s: %s", failed.Reason, failed.Message)
	}
	if chain.Kills() == 0 && sweep.All() {
		b.Error("restore-operator was never killed, so the test tested nothing")
	}
}

// deleteRestore deletes an EtcdRestore.
func (b *bench) deleteRestore(name string) {
	b.Helper()
	b.delete(&v1beta2.EtcdRestore{}, name)
}

// restoring runs both operators, kills them at every call, and waits until met returns no error. After every kill,
// clients must see either before or after.
func (b *bench) restoring(before, after map[string]string, met func() error) {
	b.Helper()
	var chain, other killer.Chain
	restorer := b.restoreOperator(&other)
	switched, clients := false, &served{b: b}
	if b.cluster.Status.ClusterID != "" { // clients of a cluster that has never formed are not served before
		defer clients.watch()()
	}
	b.afterKill = func() {
		clients.killed()
		restorer.restart()
		seen, err := b.traffic.all(b.Context())
		switch {
		case err != nil:
		case maps.Equal(seen, after):
			switched = !maps.Equal(before, after)
		case switched || !maps.Equal(seen, before):
			b.Errorf("clients see a mix of old and restored data, or old data after restored data: %d keys, old data has %d, the snapshot %d", len(seen), len(before), len(after))
		}
	}
	b.operate(&chain, "restore", func() error { restorer.restart(); b.endPauses(); return met() })
	b.afterKill = nil
	restorer.stop()
	b.Logf("cluster-operator was killed %d times, %d of its calls had an effect; restore-operator %d times, %d calls", chain.Kills(), chain.Effects(), other.Kills(), other.Effects())
	if other.Effects() == 0 || chain.Effects() == 0 {
		b.Error("no call of an operator had an effect, so the test tested nothing")
	}
	if seen := b.contents(); !maps.Equal(seen, after) {
		b.Errorf("the restored cluster does not have the expected data: %d keys, expected %d", len(seen), len(after))
	}
	if err := b.noLeftovers(); err != nil {
		b.operate(&killer.Count{}, "delete leftover objects", b.noLeftovers)
	}
	b.leftAlone()
}

// endPauses has the time pass until the next attempt. Each attempt that a kill interrupts doubles the pause, and a sweep has many kills.
func (b *bench) endPauses() {
	var restores v1beta2.EtcdRestoreList
	if err := b.client.List(b.Context(), &restores, client.InNamespace(b.cluster.Namespace)); err != nil {
		b.Fatal(err)
	}
	for i := range restores.Items {
		r := &restores.Items[i]
		if next := r.Status.NextTime; next == nil || time.Until(next.Time) < time.Second {
			continue
		}
		before := r.DeepCopy()
		r.Status.NextTime = ptr.To(metav1.Now())
		if err := b.client.Status().Patch(b.Context(), r, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			b.Fatal(err)
		}
	}
}

// restoreOperator runs restore-operator, one Life after another.
type restoreOperator struct {
	b      *bench
	policy killer.Policy
	spool  string
	life   *killer.Life
	stop   func()
}

func (b *bench) restoreOperator(policy killer.Policy) *restoreOperator {
	o := &restoreOperator{b: b, policy: policy, spool: b.TempDir(), stop: func() {}}
	o.restart()
	return o
}

// restart starts a new Life if the last one ended.
func (o *restoreOperator) restart() {
	if o.life != nil && o.life.Context().Err() == nil {
		return
	}
	o.stop()
	o.life = killer.NewLife(context.WithoutCancel(o.b.Context()), o.policy)
	o.stop = kubetest.RunManager(quiet{o.b.T}, o.b.cluster.Namespace, func(_ context.Context, mgr manager.Manager) error {
		dial := func(endpoint etcd.Endpoint, config *tls.Config) (*etcd.Client, error) {
			endpoint.Address = o.b.addressOf(endpoint.URL)
			return etcd.Open(endpoint, config, o.life.Dial(endpoint.URL)...)
		}
		prove, err := restore.InSpool(o.spool)
		if err != nil {
			return err
		}
		options := restore.Options{Prove: prove, Save: restore.SaveInSpool(o.spool, dial), MaxProofs: 2, OwnIdentity: grant.Everything(), Metrics: prometheus.NewRegistry()}
		if o.b.identity != nil {
			options = o.b.withIdentity(options)
		}
		return restore.Setup(mgr, options)
	}, func(c client.WithWatch) client.WithWatch { return o.life.Client(c, o.b.client) })
}

// addressOf returns the address of the Pod behind a member's URL, because this process does not use the DNS of the Pods.
func (b *bench) addressOf(member string) string {
	_, host, _ := strings.Cut(member, "://")
	name, _, _ := strings.Cut(host, ".")
	for _, pod := range b.list() {
		if pod.Name == name {
			return pod.Status.PodIP + ":2379"
		}
	}
	return ""
}

// quiet is a test that drops the operators' log messages, which are mostly errors of kills.
type quiet struct{ testing.TB }

func (quiet) Log(...any) {}

// verify runs restore-operator without kills until it has verified the source.
func (b *bench) verify(r *v1beta2.EtcdRestore) {
	b.Helper()
	o := b.restoreOperator(&killer.Count{})
	defer o.stop()
	kubetest.Eventually(b, "the source is verified", func(context.Context) error { return b.is(r, v1beta2.ConditionVerified) })
}

// is returns no error if a condition of the restore is True.
func (b *bench) is(r *v1beta2.EtcdRestore, condition string) error {
	if err := b.client.Get(b.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(r.Status.Conditions, condition) {
		return fmt.Errorf("EtcdRestore %s is not %s: %+v", r.Name, condition, r.Status.Conditions)
	}
	return nil
}

// contents returns all keys and values that clients see.
func (b *bench) contents() (pairs map[string]string) {
	b.Helper()
	kubetest.Eventually(b, "clients can read", func(ctx context.Context) (err error) {
		pairs, err = b.traffic.all(ctx)
		return err
	})
	return pairs
}

// save returns a snapshot that etcdctl saved.
func (b *bench) save() []byte {
	b.Helper()
	path := filepath.Join(b.TempDir(), "snapshot.db")
	pods := b.traffic.selected(b.Context())
	if len(pods) == 0 {
		b.Fatal("the client Service selects no ready member")
	}
	out, err := exec.CommandContext(b.Context(), servers.EtcdctlProgram(b, "3.6"), "--endpoints=http://"+pods[0].Status.PodIP+":2379", "snapshot", "save", path).CombinedOutput()
	if err != nil {
		b.Fatalf("save a snapshot: %v\n%s", err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return content
}

// store is an S3 server with a bucket.
type store struct{ server *servers.S3Server }

const bucket = "backups"

func newStore(t *testing.T) *store {
	s := &store{server: servers.S3(t)}
	s.server.CreateBucket(t, bucket)
	return s
}

func (s *store) data() map[string][]byte {
	return map[string][]byte{"access-key-id": []byte(s.server.AccessKey), "secret-access-key": []byte(s.server.SecretKey)}
}

func (s *store) secret(namespace string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "aws"}, Data: s.data()}
}

func (s *store) put(t *testing.T, key string, content []byte) {
	t.Helper()
	opened, err := connect.Open(t.Context(), connect.Access{
		Location: storage.Location{Provider: v1beta2.StorageS3, Bucket: bucket, Endpoint: s.server.Endpoint, Region: s.server.Region, ForcePathStyle: true},
		Data:     s.data(),
	})
	if err == nil {
		err = opened.Put(t.Context(), key, bytes.NewReader(content))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// safetySnapshots returns the keys of all safety snapshots.
func (s *store) safetySnapshots(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.server.BucketDir(bucket), "safety-snapshots", "*", "*", "*", "*.db"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], s.server.BucketDir(bucket)+"/")
	}
	return found
}

// remove deletes an object's file, without a request to the S3 server.
func (s *store) remove(t *testing.T, key string) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.server.BucketDir(bucket), key)); err != nil {
		t.Fatal(err)
	}
}

// removeIfThere is remove for an object that an earlier call may have deleted.
func (s *store) removeIfThere(t *testing.T, key string) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.server.BucketDir(bucket), key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func (s *store) restore(of *v1beta2.EtcdCluster, name, key string) *v1beta2.EtcdRestore {
	return &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: name},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster:       v1beta2.ClusterReference{Name: of.Name},
			BackupStorageType: v1beta2.StorageS3,
			Storage: v1beta2.Storage{S3: &v1beta2.S3Source{
				Path: bucket + "/" + key, AWSSecret: "aws", Endpoint: s.server.Endpoint, ForcePathStyle: true,
			}},
		},
	}
}
