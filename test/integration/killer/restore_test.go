package killer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// TestARestoreThatDiesAtEveryCallBringsAllBackOrChangesNothing kills cluster-operator and restore-operator before and
// after each of their API writes and calls of etcd. At every death clients see all of the old data or all of the
// snapshot's, and never the old again after the snapshot's.
func TestARestoreThatDiesAtEveryCallBringsAllBackOrChangesNothing(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: newer})
	kubetest.Create(t, b.cluster, store.secret(b.cluster.Namespace))
	stop := b.traffic.run()
	b.operate(&killer.Count{}, "form a cluster", b.settled)
	stop()
	b.traffic.check()
	saved := b.contents()
	store.put(t, "good.db", b.save())
	kubetest.Eventually(t, "a key is written", func(ctx context.Context) error {
		before := b.traffic.count()
		if b.traffic.write(ctx); b.traffic.count() == before {
			return errors.New("not acknowledged")
		}
		return nil
	})
	now, born := b.contents(), b.cluster.Status.ClusterID

	b.step("a snapshot that is gone by the time that the seed reads it changes nothing", func(b *bench) {
		store.put(t, "gone.db", b.save())
		r := store.restore(b.cluster, "gone", "gone.db")
		kubetest.Create(b, r)
		b.proves(r)
		store.remove(t, "gone.db")
		b.restoring(now, now, func() error { return errors.Join(b.settled(), b.is(r, v1beta2.ConditionFailed)) })
		if b.cluster.Status.ClusterID != born {
			b.Errorf("the cluster is %s and was %s", b.cluster.Status.ClusterID, born)
		}
	})
	b.step("in place", func(b *bench) {
		r := store.restore(b.cluster, "good", "good.db")
		kubetest.Create(b, r)
		b.restoring(now, saved, func() error { return errors.Join(b.settled(), b.is(r, v1beta2.ConditionComplete)) })
		if id := b.cluster.Status.ClusterID; id == born || id != r.Status.ClusterID {
			b.Errorf("the cluster is %s, was %s, and the EtcdRestore says %s", id, born, r.Status.ClusterID)
		}
	})
	b.step("into a cluster that is made together with it", func(b *bench) {
		b.cluster = &v1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.cluster.Namespace, Name: "another"},
			Spec:       v1beta2.EtcdClusterSpec{Size: 1, Version: newer},
		}
		b.traffic = newTraffic(b)
		r := store.restore(b.cluster, "another", "good.db")
		kubetest.Create(b, r, b.cluster)
		b.restoring(saved, saved, func() error { return errors.Join(b.settled(), b.is(r, v1beta2.ConditionComplete)) })
	})
}

// restoring runs both operators, killed at every call, until met has no error. Clients see before, or after.
func (b *bench) restoring(before, after map[string]string, met func() error) {
	b.Helper()
	var chain, other killer.Chain
	proves := b.restoreOperator(&other)
	switched := false
	b.atDeath = func() {
		proves.revive()
		seen, err := b.traffic.all(b.Context())
		switch {
		case err != nil:
		case maps.Equal(seen, after):
			switched = !maps.Equal(before, after)
		case switched || !maps.Equal(seen, before):
			b.Errorf("clients see neither the old data nor the snapshot's: %d keys of %d and %d", len(seen), len(before), len(after))
		}
	}
	b.operate(&chain, "restore", func() error { proves.revive(); return met() })
	b.atDeath = nil
	proves.stop()
	b.Logf("cluster-operator died %d times around %d effects, restore-operator %d times around %d", chain.Deaths(), chain.Effects(), other.Deaths(), other.Effects())
	if other.Effects() == 0 || chain.Effects() == 0 {
		b.Error("no call had an effect: nothing was tested")
	}
	if seen := b.contents(); !maps.Equal(seen, after) {
		b.Errorf("%d keys at the end, and %d were to be there", len(seen), len(after))
	}
	if err := b.tidy(); err != nil {
		b.operate(&killer.Count{}, "tidy up", b.tidy)
	}
	b.leftAlone()
}

// restoreOperator is restore-operator, whose lives follow one another.
type restoreOperator struct {
	b      *bench
	policy killer.Policy
	spool  string
	life   *killer.Life
	stop   func()
}

func (b *bench) restoreOperator(policy killer.Policy) *restoreOperator {
	o := &restoreOperator{b: b, policy: policy, spool: b.TempDir(), stop: func() {}}
	o.revive()
	return o
}

// revive starts it again if it is dead.
func (o *restoreOperator) revive() {
	if o.life != nil && o.life.Context().Err() == nil {
		return
	}
	o.stop()
	o.life = killer.NewLife(context.WithoutCancel(o.b.Context()), o.policy)
	o.stop = kubetest.RunManager(quiet{o.b.T}, o.b.cluster.Namespace, func(_ context.Context, mgr manager.Manager) error {
		prove, err := restore.InSpool(o.spool)
		if err != nil {
			return err
		}
		return restore.Setup(mgr, restore.Options{Prove: prove, MaxProofs: 2, Metrics: prometheus.NewRegistry()})
	}, o.life.Client)
}

// quiet is a test that keeps to itself what operators say of their deaths.
type quiet struct{ testing.TB }

func (quiet) Log(...any) {}

// proves lets restore-operator alone until it has proven the source.
func (b *bench) proves(r *v1beta2.EtcdRestore) {
	b.Helper()
	o := b.restoreOperator(&killer.Count{})
	defer o.stop()
	kubetest.Eventually(b, "the source is proven", func(context.Context) error { return b.is(r, v1beta2.ConditionVerified) })
}

// is has no error when the restore has a condition.
func (b *bench) is(r *v1beta2.EtcdRestore, condition string) error {
	if err := b.client.Get(b.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(r.Status.Conditions, condition) {
		return fmt.Errorf("EtcdRestore %s is not %s: %+v", r.Name, condition, r.Status.Conditions)
	}
	return nil
}

// contents is what clients see.
func (b *bench) contents() (pairs map[string]string) {
	b.Helper()
	kubetest.Eventually(b, "clients can read", func(ctx context.Context) (err error) {
		pairs, err = b.traffic.all(ctx)
		return err
	})
	return pairs
}

// save is a snapshot, as etcdctl makes it.
func (b *bench) save() []byte {
	b.Helper()
	path := filepath.Join(b.TempDir(), "snapshot.db")
	pods := b.traffic.selected(b.Context())
	if len(pods) == 0 {
		b.Fatal("clients are led nowhere")
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

// remove takes an object away behind everybody's back.
func (s *store) remove(t *testing.T, key string) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.server.BucketDir(bucket), key)); err != nil {
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
