package secrets

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

// staticSecrets are the three Secrets of a user, each with the keys that the caller chooses.
func staticSecrets(t *testing.T, keysOf func(tlssecret.Keys) tlssecret.Keys) []client.Object {
	t.Helper()
	authority, err := pki.NewCA("etcd", plantest.Noon.Add(-time.Hour), 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var all []client.Object
	for name, keys := range map[string]tlssecret.Keys{"peer": tlssecret.Peer, "server": tlssecret.Server, "operator": tlssecret.Client} {
		pair, err := authority.Issue(pki.Request{CommonName: name, Client: true, Server: true}, plantest.Noon.Add(-time.Hour), 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		keys = keysOf(keys)
		all = append(all, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string][]byte{keys.Cert: pair.Cert, keys.Key: pair.Key, keys.CA: authority.Cert}})
	}
	return all
}

// A user of cert-manager had to write a mapping of keys by hand, or a job that copies Secrets.
func TestStaticCertificatesHaveTheKeysOfEtcdOrThoseOfTheirType(t *testing.T) {
	for name, test := range map[string]struct {
		keys    func(tlssecret.Keys) tlssecret.Keys
		problem string
	}{
		"keys of etcd":              {func(k tlssecret.Keys) tlssecret.Keys { return k }, ""},
		"keys of kubernetes.io/tls": {func(tlssecret.Keys) tlssecret.Keys { return tlssecret.Standard }, ""},
		"a Secret without a CA": {func(tlssecret.Keys) tlssecret.Keys {
			return tlssecret.Keys{Cert: tlssecret.Standard.Cert, Key: tlssecret.Standard.Key, CA: "other"}
		}, "Secret peer has no key ca.crt."},
		"a misspelt key": {func(k tlssecret.Keys) tlssecret.Keys { k.Key = "privat.key"; return k }, "Secret peer has no key peer.key."},
	} {
		s, v := secretsBeside(t, staticSecrets(t, test.keys)...)
		v.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"}, OperatorSecret: "operator"}}
		if err := s.ObserveSecrets(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(v.SecretProblem, test.problem) || (test.problem == "") != (v.SecretProblem == "") {
			t.Errorf("%s: the problem is %q", name, v.SecretProblem)
		}
		if test.problem != "" {
			continue
		}
		if v.TLS == nil || v.Certificates.Trust == "" || v.Certificates.Loaded == "" || v.Certificates.Expires.IsZero() {
			t.Errorf("%s: the operator connects with %v, and knows of the certificates %+v", name, v.TLS, v.Certificates)
		}
	}
}
