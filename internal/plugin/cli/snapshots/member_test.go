package snapshots

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corefake "k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// With authentication on, etcd refuses a snapshot to the clients of the cluster, so the operators' certificate comes first. A person who may read only the clients' Secret was
// refused, although that one is enough without authentication. Any other error must not lead to another identity than the one that was meant.
func TestOnlyAPersonWhoMayNotReadTheOperatorsCertificateUsesThatOfClients(t *testing.T) {
	managed, static := &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}, &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "given"}}
	secrets := schema.GroupResource{Resource: "secrets"}
	broken := errors.New("the connection was lost")
	for name, c := range map[string]struct {
		tls   *v1beta2.TLSPolicy
		fails error
		want  string
	}{
		"who may read both":               {managed, nil, "example-operator-tls"},
		"who may not read the operators'": {managed, apierrors.NewForbidden(secrets, "example-operator-tls", nil), "example-client-tls"},
		"if it does not exist":            {managed, apierrors.NewNotFound(secrets, "example-operator-tls"), "example-client-tls"},
		"if the API server fails":         {managed, broken, ""},
		"static":                          {static, nil, "given"},
		"who may not read the static one": {static, apierrors.NewForbidden(secrets, "given", nil), ""},
	} {
		var objects []runtime.Object
		for _, name := range []string{"example-operator-tls", "example-client-tls", "given"} {
			objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}})
		}
		cluster := v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}, Spec: v1beta2.EtcdClusterSpec{TLS: c.tls}}
		core := corefake.NewClientset(objects...)
		core.PrependReactor("get", "secrets", func(action ktesting.Action) (bool, runtime.Object, error) {
			of := action.(ktesting.GetAction).GetName() == c.tls.OperatorSecret("example")
			return of && c.fails != nil, nil, c.fails
		})
		got, err := certificate(t.Context(), &session.World{Core: core, Namespace: "ns"}, cluster)
		switch {
		case c.want == "" && !errors.Is(err, c.fails):
			t.Errorf("%s: %v, error %v", name, got, err)
		case c.want != "" && (err != nil || got.Name != c.want):
			t.Errorf("%s: %v, error %v", name, got, err)
		}
	}
}
