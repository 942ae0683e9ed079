package cluster

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// unique is a text of about 1 MiB that no other object shares.
func unique(i int) string { return fmt.Sprint(i) + strings.Repeat("x", 1<<20-100) }

// A tenant labels his own Pods as members of a cluster, and gives each a text of 1 MiB. 300 of them filled the memory of the operator, which then
// served no namespace.
func TestPodsOfOneNamespaceDoNotFillTheCache(t *testing.T) {
	for name, pod := range map[string]func(i int) corev1.PodSpec{
		"an argument": func(i int) corev1.PodSpec {
			return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Args: []string{unique(i)}}}}
		},
		"a variable that is read": func(i int) corev1.PodSpec {
			return corev1.PodSpec{Containers: []corev1.Container{{Name: plan.EtcdContainer, Env: []corev1.EnvVar{{Name: plan.QuotaVariable, Value: unique(i)}}}}}
		},
	} {
		var cache []any
		heaptest.Bound(t, 64, func() {
			for i := range 300 {
				kept, err := strip(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: fmt.Sprint("p", i), Labels: map[string]string{v1beta2.LabelCluster: "none"}}, Spec: pod(i)})
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
		annotationTemplate: "x", "mesh": strings.Repeat("x", 250<<10),
	}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar", Args: []string{unique(1)}}}}}
	if kept, err := strip(pod); err != nil || kept != any(pod) {
		t.Errorf("the cache has a %T, error %v", kept, err)
	}
}

// A tenant has many EtcdClusters with Secrets of 1 MiB. They can be used, and are not kept.
func TestLargeSecretsAreReadAndNotKept(t *testing.T) {
	large := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "large"}, Data: map[string][]byte{"junk": []byte(unique(1)), "ca.crt": []byte("ca")}}
	small := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "small"}, Data: map[string][]byte{"ca.crt": []byte("ca")}}
	var kept keptReads
	read := reader{fake.NewClientBuilder().WithObjects(large, small).Build(), &kept}
	for _, secret := range []*corev1.Secret{large, small} {
		var found corev1.Secret
		if err := read.Get(t.Context(), client.ObjectKeyFromObject(secret), &found); err != nil || string(found.Data["ca.crt"]) != "ca" {
			t.Errorf("%s: %v, %v", secret.Name, found.Data["ca.crt"], err)
		}
	}
	if len(kept.objects) != 1 {
		t.Errorf("%d Secrets are kept, want the small one", len(kept.objects))
	}
}
