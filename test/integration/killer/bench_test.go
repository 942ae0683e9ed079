package killer_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
)

const (
	// converge is how long an operation may take, with all its deaths, on a machine under load; alone it takes seconds.
	converge = 8 * time.Minute
	// longestPause between two passes: the tests do not wait for watches, and hurry the polls.
	longestPause = 100 * time.Millisecond
)

// bench is a namespace whose Pods run, with one EtcdCluster in it.
type bench struct {
	*testing.T
	client  client.WithWatch
	pods    *podrunner.Runner
	cluster *v1beta2.EtcdCluster
	traffic *traffic
	// atDeath is done after every death of cluster-operator; nil does nothing.
	atDeath func()
}

func newBench(t *testing.T, spec v1beta2.EtcdClusterSpec) *bench {
	b := &bench{T: t, client: kubetest.Client(t)}
	namespace := kubetest.Namespace(t)
	b.defaultStorageClass()
	b.pods = podrunner.Start(t, namespace)
	b.cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example"}, Spec: spec}
	b.traffic = newTraffic(b)
	return b
}

func (b *bench) defaultStorageClass() {
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: "podrunner", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: "podrunner", AllowVolumeExpansion: ptr.To(true),
	}
	if err := b.client.Create(b.Context(), class); err != nil && !apierrors.IsAlreadyExists(err) {
		b.Fatal(err)
	}
}

// operator is one process of cluster-operator, without a cache that could be behind: what it decides on is there.
func (b *bench) operator(life *killer.Life) *cluster.Reconciler {
	b.Helper()
	c := life.Client(b.client)
	r, err := cluster.New(c, c, discard{}, cluster.Options{
		SeedImage: podrunner.SeedImage,
		Dial: func(endpoint etcd.Endpoint, config *tls.Config) (cluster.Etcd, error) {
			return etcd.Open(endpoint, config, life.Dial(endpoint.URL)...)
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// operate runs cluster-operator, again and again as often as policy kills it, until met has no error.
func (b *bench) operate(policy killer.Policy, what string, met func() error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), converge)
	defer cancel()
	var last, said error
	for ctx.Err() == nil {
		life := killer.NewLife(ctx, policy)
		r := b.operator(life)
		for life.Context().Err() == nil {
			result, err := r.Reconcile(life.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.cluster)})
			if life.Death() == "" && err != nil {
				said = err
			}
			if last = met(); last == nil {
				life.End()
				return
			}
			pause(life.Context(), min(max(result.RequeueAfter, time.Millisecond), longestPause))
		}
		if b.atDeath != nil {
			b.atDeath()
		}
	}
	b.Fatalf("the operator did not %s within %s: %v\nit said last: %v\n%s", what, converge, last, said, b.world())
}

// settled has no error when the cluster is ready, as its newest spec asks.
func (b *bench) settled() error {
	if err := b.client.Get(b.Context(), client.ObjectKeyFromObject(b.cluster), b.cluster); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != b.cluster.Generation {
		return fmt.Errorf("condition %+v", ready)
	}
	return nil
}

// change applies a change of the spec.
func (b *bench) change(change func(*v1beta2.EtcdClusterSpec)) {
	b.Helper()
	if err := b.client.Get(b.Context(), client.ObjectKeyFromObject(b.cluster), b.cluster); err != nil {
		b.Fatal(err)
	}
	before := b.cluster.DeepCopy()
	change(&b.cluster.Spec)
	if err := b.client.Patch(b.Context(), b.cluster, client.MergeFrom(before)); err != nil {
		b.Fatal(err)
	}
}

// killed does an operation with an operator that is killed at every call of it, and looks that the end is the right one.
func (b *bench) killed(met func() error) {
	b.Helper()
	began := time.Now()
	var chain killer.Chain
	b.operate(&chain, "converge", met)
	b.Logf("%d deaths at the calls around %d effects, %s", chain.Deaths(), chain.Effects(), time.Since(began).Round(time.Second))
	if chain.Effects() == 0 {
		b.Error("no call had an effect: nothing was tested")
	}
	b.check()
}

// check looks at the end of an operation: as many members as wanted and nothing left over, every write that a client
// was told of, and an operator that leaves it at that.
func (b *bench) check() {
	b.Helper()
	var quiet killer.Count
	b.operate(&quiet, "stay settled", b.settled) // what a dead operator has not yet reported
	if err := b.tidy(); err != nil {
		kubetest.Eventually(b, "the cluster has its Pods and volumes and no more", func(context.Context) error { return b.tidy() })
	}
	b.traffic.check()
	b.traffic.still(b.leftAlone)
}

// tidy has no error when members, Pods and volumes are those of a cluster of its size.
func (b *bench) tidy() error {
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	ours := []client.ListOption{client.InNamespace(b.cluster.Namespace), client.MatchingLabels{v1beta2.LabelCluster: b.cluster.Name}}
	if err := errors.Join(b.client.List(b.Context(), &pods, ours...), b.client.List(b.Context(), &claims, ours...)); err != nil {
		return err
	}
	var runs, holds, votes []string
	for _, pod := range pods.Items {
		runs = append(runs, pod.Name)
	}
	for _, claim := range claims.Items {
		holds = append(holds, claim.Name)
	}
	members, err := b.traffic.members()
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Learner {
			return fmt.Errorf("member %s has no vote", m.Name)
		}
		votes = append(votes, m.Name)
	}
	slices.Sort(votes)
	if pod := b.cluster.Spec.Pod; pod != nil && pod.EmptyDir != nil {
		holds = append(holds, runs...)
	}
	if len(votes) != b.cluster.Spec.Size || !slices.Equal(votes, runs) || !slices.Equal(votes, holds) {
		return fmt.Errorf("size %d, members %q, Pods %q, volumes %q", b.cluster.Spec.Size, votes, runs, holds)
	}
	return nil
}

// leftAlone looks at the settled cluster until three looks in a row cost no write. Before that it takes in what clients and
// etcd itself did: that goes to databases, whose sizes the status tells, up to seconds after it was acknowledged.
func (b *bench) leftAlone() {
	b.Helper()
	const looks = 3
	var count killer.Count
	r := b.operator(killer.NewLife(b.Context(), &count))
	kubetest.Eventually(b, "a settled cluster costs no write", func(context.Context) error {
		count.Reset()
		for range looks {
			result, err := r.Reconcile(b.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.cluster)})
			if err != nil || result.RequeueAfter < settledPeriod {
				b.Errorf("a look at a settled cluster: the next in %s, %v", result.RequeueAfter, err)
			}
		}
		if writes := count.Writes(); len(writes) > 0 {
			return fmt.Errorf("a settled cluster caused writes: %q", writes)
		}
		return nil
	})
	for call, times := range count.Calls() {
		if strings.HasPrefix(call, "Maintenance/Status") && times > looks {
			b.Errorf("%s: %d times in %d looks", call, times, looks)
		}
	}
}

// settledPeriod is the least pace of looks at a cluster that is as it should be.
const settledPeriod = 10 * time.Second

// world is what is there, for a reader of a failed test.
func (b *bench) world() string {
	var text strings.Builder
	text.WriteString(kubetest.YAML(b.cluster))
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	_ = b.client.List(context.WithoutCancel(b.Context()), &pods, client.InNamespace(b.cluster.Namespace))
	_ = b.client.List(context.WithoutCancel(b.Context()), &claims, client.InNamespace(b.cluster.Namespace))
	for _, pod := range pods.Items {
		fmt.Fprintf(&text, "Pod %s: deleted %v, annotations %v, labels %v, status %+v\n", pod.Name, pod.DeletionTimestamp, pod.Annotations, pod.Labels, pod.Status)
	}
	for _, claim := range claims.Items {
		fmt.Fprintf(&text, "volume %s: deleted %v, %s\n", claim.Name, claim.DeletionTimestamp, claim.Status.Phase)
	}
	return text.String()
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// discard takes events.
type discard struct{}

func (discard) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
