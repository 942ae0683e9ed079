package hostile

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// Kubernetes accepts a Secret of 100,000 keys, if its managedFields are removed first. An operator that keeps what it has read for ten objects of a tenant
// would end for lack of memory, and with it the backups and repairs of all others.
func TestASecretOfAsManyKeysAsKubernetesAcceptsIsRefused(t *testing.T) {
	c, ns := kubetest.Client(t), kubetest.Namespace(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "many"}}
	kubetest.Create(t, secret)
	if err := c.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"managedFields":[{}]}}`))); err != nil {
		t.Fatal(err)
	}
	secret.Data, secret.ManagedFields = map[string][]byte{}, nil
	for k := range 100_000 {
		secret.Data[strconv.FormatInt(int64(k), 36)] = nil
	}
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatalf("Kubernetes refuses the Secret, so this try needs another one: %v", err)
	}
	secret = nil
	heaptest.Holds(t, 1<<10, func() any {
		var held []any
		for range 10 {
			data, err := kube.SecretData(t.Context(), c, ns, "many", "0")
			if !errors.Is(err, kube.ErrSecretRefused) || !strings.Contains(err.Error(), "100000 keys") {
				t.Errorf("read as %d keys, error %v", len(data), err)
			}
			held = append(held, data, err)
		}
		return held
	})
}
