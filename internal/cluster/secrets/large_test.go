package secrets

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
)

// A tenant has many EtcdClusters with large Secrets. They can be used. A large content is not kept, and what no pass reads is not kept either.
func TestLargeSecretsAreReadAndNotKept(t *testing.T) {
	large := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "large"}, Data: map[string][]byte{"ca.key": []byte(clustertest.Unique(1)[:maxKept]), "ca.crt": []byte("ca")}}
	small := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "small"}, Data: map[string][]byte{"ca.crt": []byte("ca"), "junk": []byte(clustertest.Unique(1))}}
	r, v := secretsBeside(t, large, small)
	for _, name := range []string{"large", "small"} {
		found, err := r.secretOf(t.Context(), v, name)
		if err != nil || string(found.Data["ca.crt"]) != "ca" {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	if kept := r.Memory.OfView(v); len(kept.objects) != 1 || !kept.large {
		t.Errorf("%d Secrets are kept, want the small one", len(kept.objects))
	}
}

// A tenant gave Certificates of cert-manager 1 MiB of annotations and names. Each pass held them, and the operator kept them for each cluster.
func TestLargeCertificatesAreNotKept(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*unstructured.Unstructured)
		refused bool
		kept    int
	}{
		"annotations": {func(c *unstructured.Unstructured) { c.SetAnnotations(map[string]string{"junk": clustertest.Unique(1)}) }, false, 1},
		"a name": {func(c *unstructured.Unstructured) {
			c.Object["spec"] = map[string]any{"commonName": clustertest.Unique(1)[:maxKept]}
		}, false, 0},
		"a spec of 1 MiB": {func(c *unstructured.Unstructured) {
			c.Object["spec"] = map[string]any{"commonName": clustertest.Unique(1)}
		}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			certificate := &unstructured.Unstructured{Object: map[string]any{"apiVersion": certManagerVersion, "kind": "Certificate", "metadata": map[string]any{"namespace": "ns", "name": "c"}}}
			test.change(certificate)
			r, v := secretsBeside(t)
			r.APIReader = kubecache.LiveReader{Reader: fake.NewClientBuilder().WithObjects(certificate).Build()}
			found, err := r.certificateOf(t.Context(), v, certificate)
			if refused := errors.Is(err, kubecache.ErrTooLarge); refused != test.refused || err == nil && found.GetName() != "c" {
				t.Errorf("read as %v, error %v", found, err)
			}
			if len(r.Memory.OfView(v).objects) != test.kept || err == nil && kubecache.HeldSize(found) > kubecache.MaxHeld {
				t.Errorf("%d objects are kept, and the pass holds %d KiB", len(r.Memory.OfView(v).objects), kubecache.HeldSize(found)>>10)
			}
		})
	}
}
