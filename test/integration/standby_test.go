package integration

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
)

// standbyBench is a pointBench with an EtcdCluster that follows it. All three operators run, and the Pods run as processes.
type standbyBench struct {
	*pointBench
	pods    *podrunner.Runner
	cluster *v1beta2.EtcdCluster
	restore *v1beta2.EtcdRestore
}

// newStandbyBench begins a standby with etcd 3.6 of a source with that minor version.
func newStandbyBench(t *testing.T, source string) *standbyBench {
	b := &standbyBench{pointBench: newPointBench(t, source, nil)}
	b.follow(&killer.Count{})
	return b
}

// follow begins the standby. policy says when cluster-operator is killed.
func (b *standbyBench) follow(policy killer.Policy) {
	createStorageClass(b.T)
	b.pods = podrunner.Start(b.T, b.namespace)
	b.restore = &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "follow"},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster: v1beta2.ClusterReference{Name: "standby"}, EtcdBackup: &v1beta2.BackupReference{Name: b.series.Name}, Follow: &v1beta2.FollowSpec{},
		},
	}
	b.cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "standby"}, Spec: v1beta2.EtcdClusterSpec{Size: 1, Version: "3.6.16"}}
	kubetest.Create(b, b.restore, b.cluster)
	operateKilled(b, b.cluster, policy)
}

// createStorageClass creates the class that volumes of members have by default.
func createStorageClass(t *testing.T) {
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: "podrunner", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: "podrunner",
	}
	if err := kubetest.Client(t).Create(t.Context(), class); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// operateOne runs cluster-operator for one EtcdCluster until the test ends.
func operateOne(t testing.TB, of *v1beta2.EtcdCluster) { operateKilled(t, of, &killer.Count{}) }

// operateKilled runs cluster-operator for one EtcdCluster until the test ends, and starts it again each time policy kills it.
func operateKilled(t testing.TB, of *v1beta2.EtcdCluster, policy killer.Policy) {
	key := client.ObjectKeyFromObject(of)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			liveOnce(ctx, t, key, killer.NewLife(ctx, policy))
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
}

// liveOnce runs cluster-operator for one EtcdCluster until its Life ends.
func liveOnce(ctx context.Context, t testing.TB, key client.ObjectKey, life *killer.Life) {
	c := life.Client(kubetest.Client(t), kubetest.Client(t))
	operator, err := cluster.New(c, c, noEvents{}, cluster.Options{
		SeedImage: podrunner.SeedImage,
		Dial: func(endpoint etcd.Endpoint, config *tls.Config) (members.Etcd, error) {
			return etcd.Open(endpoint, config, life.Dial(endpoint.URL)...)
		},
	})
	if err != nil {
		t.Error(err)
	}
	for err == nil && life.Context().Err() == nil {
		if _, err := operator.Reconcile(life.Context(), ctrl.Request{NamespacedName: key}); err != nil && ctx.Err() == nil && life.KilledAt() == "" {
			t.Logf("a pass of cluster-operator: %v", err)
		}
		select {
		case <-life.Context().Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	<-life.Context().Done()
}

func (b *standbyBench) reload() v1beta2.EtcdRestoreStatus {
	b.Helper()
	if err := kubetest.Client(b).Get(b.Context(), client.ObjectKeyFromObject(b.restore), b.restore); err != nil {
		b.Fatal(err)
	}
	return b.restore.Status
}

// reaches waits until the status says that the standby has a revision.
func (b *standbyBench) reaches(revision int64) {
	b.Helper()
	kubetest.Eventually(b, fmt.Sprintf("the standby has revision %d", revision), func(context.Context) error {
		s := b.reload()
		following := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionFollowing)
		if s.Follow == nil || s.Follow.Revision < revision || following == nil || following.Status != metav1.ConditionTrue {
			return fmt.Errorf("the status has %+v, %+v, and the cluster %s", s.Follow, following, b.readiness())
		}
		return nil
	})
}

func (b *standbyBench) readiness() string {
	if err := kubetest.Client(b).Get(b.Context(), client.ObjectKeyFromObject(b.cluster), b.cluster); err != nil {
		return err.Error()
	}
	if ready := meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionReady); ready != nil {
		return ready.Reason + ": " + ready.Message
	}
	return "has no condition"
}

// pod returns the Pod of the standby.
func (b *standbyBench) pod() corev1.Pod {
	b.Helper()
	var list corev1.PodList
	if err := kubetest.Client(b).List(b.Context(), &list, client.InNamespace(b.namespace)); err != nil || len(list.Items) != 1 {
		b.Fatalf("there are %d Pods, %v", len(list.Items), err)
	}
	return list.Items[0]
}

// everything returns all keys of an etcd, with their versions and revisions.
func everything(ctx context.Context, kv *clientv3.Client) (map[string]string, error) {
	answer, err := kv.Get(ctx, "\x00", clientv3.WithFromKey())
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, k := range answer.Kvs {
		found[string(k.Key)] = fmt.Sprintf("%s created at %d, changed at %d, version %d, lease %d", k.Value, k.CreateRevision, k.ModRevision, k.Version, k.Lease)
	}
	return found, nil
}

// The source is lost, and a standby beside it becomes the cluster. What a user would lose is each write that was in the store.
func TestAStandbyFollowsAnArchiveAndBecomesTheClusterWhenItIsPromoted(t *testing.T) {
	b := newStandbyBench(t, "3.6")
	b.reaches(b.write("first", 20))
	lease, err := b.kv.Grant(t.Context(), 7200)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.kv.Put(t.Context(), "leased", "v", clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.kv.Delete(t.Context(), "before/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	b.reaches(b.write("second", 20))
	if pod := b.pod(); pod.Status.Phase != corev1.PodPending {
		t.Errorf("etcd runs in the Pod of a standby: %s", pod.Status.Phase)
	}
	if err := kubetest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(b.cluster), b.cluster); err != nil || b.cluster.Status.ClusterID != "" {
		t.Errorf("the standby has formed: %q, %v", b.cluster.Status.ClusterID, err)
	}

	b.pods.Kill(b.pod().Name) // and it continues
	b.reaches(b.write("third", 20))

	last := b.write("last", 5)
	want, err := everything(t.Context(), b.kv)
	if err != nil {
		t.Fatal(err)
	}
	b.reload()
	b.restore.Spec.Follow.Promote = v1beta2.FollowPromoteNow
	asked := time.Now()
	if err := kubetest.Client(t).Update(t.Context(), b.restore); err != nil {
		t.Fatal(err)
	}
	b.serves(want)
	t.Logf("served %s after the promotion was asked for", time.Since(asked).Round(time.Millisecond))
	kubetest.AwaitCondition(t, b.restore, func(r *v1beta2.EtcdRestore) []metav1.Condition { return r.Status.Conditions }, v1beta2.ConditionComplete, metav1.ConditionTrue, v1beta2.ReasonComplete)
	s := b.reload()
	if p := s.Follow.Promoted; p == nil || p.Revision != last || p.Time == nil {
		t.Errorf("the status says that it was promoted at %+v, want revision %d", p, last)
	}
	complete := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionComplete)
	if !strings.Contains(complete.Message, fmt.Sprintf("up to revision %d", last)) {
		t.Errorf("the status says %q", complete.Message)
	}
	if s.RestoredRevision <= last {
		t.Errorf("the revision %d is not higher than that of the source, %d", s.RestoredRevision, last)
	}
}

// serves waits until the standby serves these keys.
func (b *standbyBench) serves(want map[string]string) {
	b.Helper()
	kubetest.Eventually(b, "the standby serves", func(ctx context.Context) error {
		address := b.pod().Status.PodIP
		if address == "" {
			return errors.New("its Pod has no address")
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		kv, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + net.JoinHostPort(address, "2379")}, DialTimeout: time.Second, Logger: zap.NewNop()})
		if err != nil {
			return err
		}
		defer kv.Close()
		got, err := everything(ctx, kv)
		if err != nil {
			return fmt.Errorf("%w; the cluster is %s", err, b.readiness())
		}
		if !maps.Equal(got, want) {
			b.Fatalf("the standby has %d keys that differ from the %d of the source:\n%v\n%v", len(got), len(want), got, want)
		}
		return nil
	})
}

// writes writes one key after the other until ctx ends, and returns the revision of the last write that etcd has acknowledged.
func (b *standbyBench) writes(ctx context.Context) (last int64) {
	for i := 0; ctx.Err() == nil; i++ {
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		answer, err := b.kv.Put(limited, fmt.Sprintf("written/%05d", i), "v")
		cancel()
		if err == nil {
			last = answer.Header.Revision
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return last
}

// handOver asks for the switchover of the source, or calls it off, and waits for a phase. An empty one means that there is no switchover.
func (b *standbyBench) handOver(is bool, phase v1beta2.SwitchoverPhase) (s v1beta2.SwitchoverStatus) {
	b.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"continuous":{"switchover":%t}}}`, is))
	if err := kubetest.Client(b).Patch(b.Context(), b.series, patch); err != nil {
		b.Fatal(err)
	}
	began, before := time.Now(), v1beta2.SwitchoverStatus{}
	kubetest.Eventually(b, "the switchover is "+string(phase), func(ctx context.Context) error {
		if err := kubetest.Client(b).Get(ctx, client.ObjectKeyFromObject(b.series), b.series); err != nil {
			return err
		}
		s = v1beta2.SwitchoverStatus{}
		defer func() {
			if s != before {
				b.Logf("%s after it was asked for, the switchover is %+v", time.Since(began).Round(time.Millisecond), s)
			}
			before = s
		}()
		if on := b.series.Status.Switchover; on != nil {
			s = *on
		}
		if s.Phase != phase {
			return fmt.Errorf("it is %+v, and the archive is %+v", s, meta.FindStatusCondition(b.series.Status.Conditions, v1beta2.ConditionArchiving))
		}
		return nil
	})
	return s
}

// promote sets how the standby is to become the cluster.
func (b *standbyBench) promote(how v1beta2.FollowPromotion) {
	b.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"follow":{"promote":%q}}}`, how))
	if err := kubetest.Client(b).Patch(b.Context(), b.restore, patch); err != nil {
		b.Fatal(err)
	}
}

// accepts waits until the source takes a write.
func (b *standbyBench) accepts() {
	b.Helper()
	kubetest.Eventually(b, "the source takes writes", func(ctx context.Context) error {
		_, err := b.kv.Put(ctx, "again", "v")
		return err
	})
}

// A cluster is moved while clients write, and from a version of etcd to the next one. What a user would lose is a write that was acknowledged in the last moment, or the
// order of its revisions.
func TestAPlannedPromotionLosesNoWriteAndKeepsTheRevisions(t *testing.T) {
	for _, source := range []string{"3.5", "3.6"} {
		t.Run("from etcd "+source, func(t *testing.T) { testPlannedPromotion(t, newStandbyBench(t, source)) })
	}
}

func testPlannedPromotion(t *testing.T, b *standbyBench) {
	b.reaches(b.write("first", 20))

	b.handOver(true, v1beta2.SwitchoverReady)
	if _, err := b.kv.Put(t.Context(), "fenced", "v"); err == nil {
		t.Error("the source takes writes, although its archive has ended")
	}
	b.handOver(false, "")
	b.accepts()
	b.promote(v1beta2.FollowPromotePlanned) // the end that was called off must not promote it
	b.reaches(b.write("second", 20))

	ctx, stop := context.WithCancel(t.Context())
	last := make(chan int64, 1)
	go func() { last <- b.writes(ctx) }()
	began := time.Now()
	b.handOver(true, v1beta2.SwitchoverPromoted)
	stop()
	acknowledged := <-last
	want, err := everything(t.Context(), b.kv)
	if err != nil {
		t.Fatal(err)
	}
	b.serves(want)
	t.Logf("served %s after the switchover was asked for", time.Since(began).Round(time.Millisecond))
	kubetest.AwaitCondition(t, b.restore, func(r *v1beta2.EtcdRestore) []metav1.Condition { return r.Status.Conditions }, v1beta2.ConditionComplete, metav1.ConditionTrue, v1beta2.ReasonComplete)
	s, on := b.reload(), b.series.Status.Switchover
	if p := s.Follow.Promoted; p == nil || !p.Planned || p.Revision != on.Revision || p.Revision != acknowledged || s.RestoredRevision != p.Revision {
		t.Errorf("etcd has acknowledged revision %d, the source says %+v, and the standby %+v with revision %d", acknowledged, on, p, s.RestoredRevision)
	}
	if on.Promoted != b.namespace+"/"+b.restore.Name {
		t.Errorf("the source says that %q was promoted", on.Promoted)
	}

	b.handOver(false, v1beta2.SwitchoverPromoted) // it cannot be called off any more
	if _, err := b.kv.Put(t.Context(), "after", "v"); err == nil {
		t.Error("the source takes writes beside the standby that became the cluster")
	}
}
