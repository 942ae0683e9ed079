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
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
)

const (
	// converge is the timeout of an operation with all its kills, on a machine under load. Without kills it takes seconds.
	converge = 8 * time.Minute
	// longestPause is the longest time between two passes. The tests have no watches and poll more often than the operator.
	longestPause = 100 * time.Millisecond
)

// bench is a test bench: a namespace with one EtcdCluster, whose Pods run as processes.
type bench struct {
	*testing.T
	client  client.WithWatch
	pods    *podrunner.Runner
	cluster *v1beta2.EtcdCluster
	traffic *traffic
	// afterKill is called after every kill of cluster-operator. It may be nil.
	afterKill func()
	// identity has the credentials of restore-operator's own identity. It may be nil.
	identity map[string][]byte
}

func newBench(t *testing.T, spec v1beta2.EtcdClusterSpec) *bench {
	return newBenchOn(t, podrunner.Start, spec)
}

// newBenchOn is newBench with a choice of what runs the Pods.
func newBenchOn(t *testing.T, start func(testing.TB, string) *podrunner.Runner, spec v1beta2.EtcdClusterSpec) *bench {
	b := &bench{T: t, client: kubetest.Client(t)}
	namespace := kubetest.Namespace(t)
	b.defaultStorageClass()
	b.pods = start(t, namespace)
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

// operator returns one process of cluster-operator. It reads without a cache, so its decisions are never based on
// outdated objects.
func (b *bench) operator(life *killer.Life) *cluster.Reconciler {
	b.Helper()
	c := life.Client(b.client, b.client)
	read, err := newCached(c)
	if err != nil {
		b.Fatal(err)
	}
	r, err := cluster.New(read, c, discard{}, cluster.Options{
		SeedImage: podrunner.SeedImage,
		Dial: func(endpoint etcd.Endpoint, config *tls.Config) (members.Etcd, error) {
			return etcd.Open(endpoint, config, life.Dial(endpoint.URL)...)
		},
		Applied: etcd.Applied,
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// operate runs cluster-operator until met returns no error. It restarts the operator whenever policy kills it. what
// completes the sentence "the operator did not ...".
func (b *bench) operate(policy killer.Policy, what string, met func() error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), converge)
	defer cancel()
	var last, reconcileErr error
	for ctx.Err() == nil {
		life := killer.NewLife(ctx, policy)
		r := b.operator(life)
		for life.Context().Err() == nil {
			result, err := r.Reconcile(life.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.cluster)})
			if life.KilledAt() == "" && err != nil {
				reconcileErr = err
			}
			if last = met(); last == nil {
				life.End()
				return
			}
			pause(life.Context(), min(max(result.RequeueAfter, time.Millisecond), longestPause))
		}
		if b.afterKill != nil {
			b.afterKill()
		}
	}
	b.Fatalf("the operator did not %s within %s: %v\nlast error of a pass: %v\n%s", what, converge, last, reconcileErr, b.dump())
}

// isReady returns no error if the cluster is Ready for its newest generation.
func (b *bench) isReady() error {
	if err := b.client.Get(b.Context(), client.ObjectKeyFromObject(b.cluster), b.cluster); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != b.cluster.Generation {
		return fmt.Errorf("the cluster is not Ready: %+v", ready)
	}
	return nil
}

// awaitReady waits longer than tests do for one step, because a change may start all members.
func (b *bench) awaitReady() {
	b.Helper()
	deadline := time.Now().Add(converge)
	for b.isReady() != nil {
		if time.Now().After(deadline) {
			b.Fatalf("the cluster is not Ready after %s: %v\n%s", converge, b.isReady(), b.dump())
		}
		pause(b.Context(), 200*time.Millisecond)
	}
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

// convergeWithKills runs an operation, kills the operator at every call of it, and checks the result.
func (b *bench) convergeWithKills(met func() error) {
	b.Helper()
	began := time.Now()
	var chain killer.Chain
	b.operate(&chain, "converge", met)
	b.Logf("the operator was killed %d times, %d calls had an effect, %s", chain.Kills(), chain.Effects(), time.Since(began).Round(time.Second))
	if chain.Effects() == 0 {
		b.Error("no call of the operator had an effect, so the test tested nothing")
	}
	b.check()
}

// check checks the result of an operation: the number of members is right, no object is left over, every acknowledged
// write exists, and the operator writes nothing more.
func (b *bench) check() {
	b.Helper()
	var quiet killer.Count
	b.operate(&quiet, "stay healthy", b.isReady) // the killed operator may not have updated the status yet
	if err := b.noLeftovers(); err != nil {
		kubetest.Eventually(b, "the cluster has exactly its Pods and volumes", func(context.Context) error { return b.noLeftovers() })
	}
	b.traffic.check()
	b.traffic.paused(b.leftAlone)
}

// noLeftovers returns no error if the cluster has exactly as many members, Pods and volumes as its size.
func (b *bench) noLeftovers() error {
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	owned := []client.ListOption{client.InNamespace(b.cluster.Namespace), client.MatchingLabels{v1beta2.LabelCluster: b.cluster.Name}}
	if err := errors.Join(b.client.List(b.Context(), &pods, owned...), b.client.List(b.Context(), &claims, owned...)); err != nil {
		return err
	}
	var podNames, claimNames, voters []string
	for _, pod := range pods.Items {
		podNames = append(podNames, pod.Name)
	}
	for _, claim := range claims.Items {
		claimNames = append(claimNames, claim.Name)
	}
	members, err := b.traffic.members()
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Learner {
			return fmt.Errorf("member %s is still a learner", m.Name)
		}
		voters = append(voters, m.Name)
	}
	slices.Sort(voters)
	if pod := b.cluster.Spec.Pod; pod != nil && pod.EmptyDir != nil {
		claimNames = append(claimNames, podNames...)
	}
	if len(voters) != b.cluster.Spec.Size || !slices.Equal(voters, podNames) || !slices.Equal(voters, claimNames) {
		return fmt.Errorf("size %d, but members %q, Pods %q, volumes %q", b.cluster.Spec.Size, voters, podNames, claimNames)
	}
	return nil
}

// leftAlone runs passes on the healthy cluster until three passes in a row write nothing. Earlier passes may write the
// database sizes to the status, which change up to seconds after a client's last write was acknowledged.
func (b *bench) leftAlone() {
	b.Helper()
	const passes = 3
	var count killer.Count
	r := b.operator(killer.NewLife(b.Context(), &count))
	kubetest.Eventually(b, "a healthy cluster causes no writes", func(context.Context) error {
		count.Reset()
		for range passes {
			result, err := r.Reconcile(b.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.cluster)})
			if err != nil || result.RequeueAfter < healthyPeriod {
				return fmt.Errorf("a pass asks for the next one after %s, expected at least %s; error %w", result.RequeueAfter, healthyPeriod, err)
			}
		}
		if writes := count.Writes(); len(writes) > 0 {
			return fmt.Errorf("the operator wrote to a healthy cluster: %q", writes)
		}
		return nil
	})
	for call, times := range count.Calls() {
		if strings.HasPrefix(call, "Maintenance/Status") && times > passes {
			b.Errorf("the operator called %s %d times in %d passes, expected once each", call, times, passes)
		}
	}
}

// healthyPeriod is the shortest interval between passes on a healthy cluster.
const healthyPeriod = 10 * time.Second

// dump describes the cluster, its Pods and its volumes for the message of a failed test.
func (b *bench) dump() string {
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

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// discard drops events.
type discard struct{}

func (discard) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
