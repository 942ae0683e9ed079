package ready

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

const (
	// defaultRounds is how often each of the two is measured, unless BENCH_ROUNDS is set.
	defaultRounds = 5
	size          = 3
	// limit is the timeout for becoming ready.
	limit        = 3 * time.Minute
	pollInterval = 20 * time.Millisecond
)

// programs lists the program modules that the benchmark needs.
var programs = []string{"kubernetes", "containerd", "coredns", "local-path", "etcd-3.6", "cni", "helm"}

// BenchmarkReady compares the time from creation to three Ready members with that of a StatefulSet. The StatefulSet has
// the same image, probes and volumes, and also starts all Pods at once. Both are measured with the same polls.
func BenchmarkReady(b *testing.B) {
	suite := installed(b)
	var floor, pods, cluster []time.Duration
	for round := range rounds(b) {
		// Alternate the order, so that leftover work of the previous round affects both equally.
		for turn := range 2 {
			if turn == round%2 {
				floor = append(floor, statefulSetTime(b, suite.Client))
				continue
			}
			members, ready := clusterTime(b, suite.Client)
			pods, cluster = append(pods, members), append(cluster, ready)
		}
		b.Logf("round %d: StatefulSet ready after %s; Pods of the EtcdCluster after %s, EtcdCluster after %s", round, floor[round], pods[round], cluster[round])
	}
	b.ReportMetric(measure.Median(floor).Seconds(), "s/statefulset")
	b.ReportMetric(measure.Median(pods).Seconds(), "s/members")
	b.ReportMetric(measure.Median(pods).Seconds()/measure.Median(floor).Seconds(), "members/statefulset")
	b.ReportMetric(measure.Median(cluster).Seconds()/measure.Median(floor).Seconds(), "cluster/statefulset")
	b.ReportMetric(0, "ns/op") // ns/op has no meaning here
}

// installed returns the suite, installed on a Kubernetes that has the image of etcd.
func installed(b *testing.B) *stack.Stack {
	b.Helper()
	suite, err := stack.Open(b.Context(), os.Stderr, programs...)
	if err != nil {
		b.Fatal(err)
	}
	if err := suite.LoadImages(b.Context(), "etcd-3.6"); err != nil {
		b.Fatal(err)
	}
	if err := suite.Install(b.Context()); err != nil {
		b.Fatal(err)
	}
	return suite
}

func rounds(b *testing.B) int {
	b.Helper()
	asked := os.Getenv("BENCH_ROUNDS")
	if asked == "" {
		return defaultRounds
	}
	count, err := strconv.Atoi(asked)
	if err != nil || count < 1 {
		b.Fatalf("BENCH_ROUNDS=%q is not a positive number", asked)
	}
	return count
}

// statefulSetTime returns the time that a StatefulSet takes.
func statefulSetTime(b *testing.B, c client.Client) time.Duration {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	return readyPods(b, c, namespace, size, statefulSet(namespace, size)...)
}

// clusterTime returns the time until the Pods of an EtcdCluster are Ready, and until the EtcdCluster itself is.
func clusterTime(b *testing.B, c client.Client) (members, ready time.Duration) {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	object := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example"},
		Spec:       v1beta2.EtcdClusterSpec{Size: size},
	}
	began := time.Now()
	members = readyPods(b, c, namespace, size, object)
	awaitReady(b, c, object)
	return members, time.Since(began)
}

// awaitReady waits until the operator reports that an EtcdCluster is as its spec asks.
func awaitReady(b *testing.B, c client.Client, object *v1beta2.EtcdCluster) {
	b.Helper()
	await(b, "the EtcdCluster is Ready", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(object.Status.Conditions, v1beta2.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != object.Generation || object.Status.Size != object.Spec.Size {
			return fmt.Errorf("the condition Ready is %+v, %d members are Ready", ready, object.Status.Size)
		}
		return nil
	})
}

// readyPods creates the objects and returns the time until so many Pods of the namespace are Ready.
func readyPods(b *testing.B, c client.Client, namespace string, wanted int, objects ...client.Object) time.Duration {
	b.Helper()
	began := time.Now()
	for _, object := range objects {
		if err := c.Create(b.Context(), object); err != nil {
			b.Fatal(err)
		}
	}
	await(b, fmt.Sprintf("%d Pods are Ready", wanted), func(ctx context.Context) error {
		var list corev1.PodList
		if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		ready := 0
		for _, pod := range list.Items {
			if isReady(pod) {
				ready++
			}
		}
		if ready < wanted {
			return fmt.Errorf("%d Pods are Ready", ready)
		}
		return nil
	})
	return time.Since(began)
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// statefulSet returns a StatefulSet of etcd members without an operator, and its Service.
func statefulSet(namespace string, size int) []client.Object {
	const name = "bare"
	labels := map[string]string{"app": name}
	host := func(i int) string { return fmt.Sprintf("%s-%d.%s.%s.svc", name, i, name, namespace) }
	var initial []string
	for i := range size {
		initial = append(initial, fmt.Sprintf("%s-%d=http://%s:2380", name, i, host(i)))
	}
	own := "http://$(POD)." + name + "." + namespace + ".svc"
	probe := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(v1beta2.MetricsPort)}}
	}
	spec := v1beta2.EtcdClusterSpec{}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	return []client.Object{
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: labels,
			Ports: []corev1.ServicePort{{Name: "peer", Port: v1beta2.PeerPort}},
		}},
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			ServiceName: name, Replicas: ptr.To(int32(size)), PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532), FSGroup: ptr.To[int64](65532),
					},
					Containers: []corev1.Container{{
						Name: "etcd", Image: spec.Image(),
						Env: []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
						Command: []string{
							"/usr/local/bin/etcd", "--name=$(POD)", "--data-dir=/var/etcd/data",
							"--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=http://0.0.0.0:2379", "--listen-metrics-urls=http://0.0.0.0:2381",
							"--initial-advertise-peer-urls=" + own + ":2380", "--advertise-client-urls=" + own + ":2379",
							"--initial-cluster=" + strings.Join(initial, ","),
						},
						VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/var/etcd"}},
						LivenessProbe:  &corev1.Probe{ProbeHandler: probe("/livez"), InitialDelaySeconds: 10, PeriodSeconds: 10, TimeoutSeconds: 10, FailureThreshold: 6},
						ReadinessProbe: &corev1.Probe{ProbeHandler: probe("/readyz"), PeriodSeconds: 1, TimeoutSeconds: 3, FailureThreshold: 3},
					}},
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}},
				},
			}},
		}},
	}
}

func newNamespace(b *testing.B, c client.Client) string {
	b.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	if err := c.Create(b.Context(), namespace); err != nil {
		b.Fatal(err)
	}
	return namespace.Name
}

// dropNamespace waits until the namespace is deleted, so that its deletion does not slow down the next measurement.
func dropNamespace(b *testing.B, c client.Client, name string) {
	b.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Delete(b.Context(), namespace); err != nil {
		b.Fatal(err)
	}
	await(b, "the namespace is deleted", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); err != nil {
			return client.IgnoreNotFound(err)
		}
		return errors.New("it still exists")
	})
}

func await(b *testing.B, what string, met func(context.Context) error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), limit)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := met(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			b.Fatalf("%s: this did not happen within %s: %v", what, limit, err)
		case <-tick.C:
		}
	}
}
