package secrets

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
)

// A user reads in the status why the cluster waits, and which Secret is the cause.
func TestASecretOfTooManyKeysIsNamedInTheStatus(t *testing.T) {
	data := map[string][]byte{}
	for k := range 65 {
		data[strconv.Itoa(k)] = nil
	}
	s, v := secretsBeside(t, &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", "example-peer-tls", nil), Data: data})
	v.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	if err := s.ObserveSecrets(t.Context(), v); err != nil || !strings.Contains(v.SecretProblem, "example-peer-tls") || !strings.Contains(v.SecretProblem, "65 keys") {
		t.Errorf("%v, problem %q", err, v.SecretProblem)
	}
}
