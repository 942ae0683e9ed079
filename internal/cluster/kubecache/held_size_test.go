package kubecache

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// A tenant labels his own Pods as members of a cluster, and gives each a text of 1 MiB. 300 of them filled the memory of the operator, which then
// served no namespace.
func TestPodsOfOneNamespaceDoNotFillTheCache(t *testing.T) {
	for name, pod := range map[string]func(i int) corev1.PodSpec{
		"an argument": func(i int) corev1.PodSpec {
			return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Args: []string{clustertest.Unique(i)}}}}
		},
		"a variable that is read": func(i int) corev1.PodSpec {
			return corev1.PodSpec{Containers: []corev1.Container{{Name: lifecycle.EtcdContainer, Env: []corev1.EnvVar{{Name: state.QuotaVariable, Value: clustertest.Unique(i)}}}}}
		},
	} {
		var cache []any
		heaptest.Bound(t, 64, func() {
			for i := range 300 {
				kept, err := Strip(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: fmt.Sprint("p", i), Labels: map[string]string{v1beta2.LabelCluster: "none"}}, Spec: pod(i)})
				if err != nil {
					t.Fatal(err)
				}
				cache = append(cache, kept)
			}
		})
		if len(cache) != 300 {
			t.Errorf("%s: %d Pods", name, len(cache))
		}
	}
}

// A member's Pod may have 256 KiB of annotations of a service mesh. If it fell out of the cache, the operator would take the member for one without a
// Pod.
func TestAPodWithAllAnnotationsThatKubernetesAllowsStaysInTheCache(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", Labels: map[string]string{v1beta2.LabelCluster: "c"}, Annotations: map[string]string{
		pods.AnnotationTemplate: "x", "mesh": strings.Repeat("x", 250<<10),
	}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar", Args: []string{clustertest.Unique(1)}}}}}
	if kept, err := Strip(pod); err != nil || kept != any(pod) {
		t.Errorf("the cache has a %T, error %v", kept, err)
	}
}
