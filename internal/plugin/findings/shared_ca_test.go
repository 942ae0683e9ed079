package findings

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/plugintest"
)

// A cluster whose issuer signs for other clusters, too, accepted their clients, and its author did not see that.
func TestTheStatusShowsThatClientsOfOthersAreAccepted(t *testing.T) {
	issued := func(kind string, accept v1beta2.ClientAcceptance) *v1beta2.TLSPolicy {
		return &v1beta2.TLSPolicy{AcceptClients: accept, CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Kind: kind, Name: "ca"}}}
	}
	static := &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "operator", Member: &v1beta2.MemberSecret{ServerSecret: "server"}}}
	for name, c := range map[string]struct {
		tls  *v1beta2.TLSPolicy
		env  []corev1.EnvVar
		want string
	}{
		"without TLS":                      {},
		"a CA of the cluster":              {tls: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}},
		"an issuer of all namespaces":      {tls: issued("ClusterIssuer", ""), want: "ClusterIssuer ca"},
		"an issuer of the namespace":       {tls: issued("", v1beta2.AcceptClientsOfCA), want: "Issuer ca"},
		"an issuer, and a checked name":    {tls: issued("ClusterIssuer", v1beta2.AcceptClientsOfCluster)},
		"Secrets of the user":              {tls: static, want: "Secret server"},
		"Secrets, only between members":    {tls: &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "peer"}}}},
		"Secrets, and a name of the user":  {tls: static, env: []corev1.EnvVar{{Name: "ETCD_CLIENT_CERT_ALLOWED_HOSTNAME", Value: "client.example"}}},
		"Secrets, and a name without text": {tls: static, env: []corev1.EnvVar{{Name: "ETCD_CLIENT_CERT_ALLOWED_HOSTNAME"}}, want: "Secret server"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := plugintest.Healthy()
			objects.Cluster.Spec.TLS, objects.Cluster.Spec.Pod = c.tls, &v1beta2.PodPolicy{EtcdEnv: c.env}
			if got := Inspect(objects).SharedCA; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
