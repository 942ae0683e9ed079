package killer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// issuer signs Certificates as cert-manager does, each when it is asked to.
type issuer struct {
	*bench
	authority *pki.CA
}

// renewCA gives the issuer another CA.
func (i *issuer) renewCA() {
	i.Helper()
	authority, err := pki.NewCA("issuer", time.Now(), 1000*time.Hour)
	if err != nil {
		i.Fatal(err)
	}
	i.authority = authority
}

func (i *issuer) list() []unstructured.Unstructured {
	i.Helper()
	var all unstructured.UnstructuredList
	all.SetAPIVersion("cert-manager.io/v1")
	all.SetKind("CertificateList")
	if err := i.client.List(i.Context(), &all, client.InNamespace(i.cluster.Namespace)); err != nil {
		i.Fatal(err)
	}
	return all.Items
}

// signNew signs what has no certificate yet.
func (i *issuer) signNew() {
	i.Helper()
	for _, certificate := range i.list() {
		var secret corev1.Secret
		err := i.client.Get(i.Context(), client.ObjectKey{Namespace: i.cluster.Namespace, Name: certificate.GetName() + "-issued"}, &secret)
		if apierrors.IsNotFound(err) {
			i.sign(certificate)
		} else if err != nil {
			i.Fatal(err)
		}
	}
}

// renew signs some Certificates again.
func (i *issuer) renew(names ...string) {
	i.Helper()
	for _, certificate := range i.list() {
		if slices.Contains(names, strings.TrimPrefix(certificate.GetName(), i.cluster.Name+"-")) {
			i.sign(certificate)
		}
	}
}

func (i *issuer) sign(certificate unstructured.Unstructured) {
	i.Helper()
	text := func(field string) string {
		value, _, _ := unstructured.NestedString(certificate.Object, "spec", field)
		return value
	}
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	usages, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "usages")
	pair, err := i.authority.Issue(pki.Request{
		CommonName: text("commonName"), DNSNames: names, Server: slices.Contains(usages, "server auth"), Client: slices.Contains(usages, "client auth"),
	}, time.Now(), 500*time.Hour)
	if err != nil {
		i.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.cluster.Namespace, Name: text("secretName"), Annotations: map[string]string{kube.AnnotationIssuedFor: certificate.GetName()}},
		Data:       map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": i.authority.Cert},
	}
	if err = i.client.Create(i.Context(), secret); apierrors.IsAlreadyExists(err) {
		err = i.client.Update(i.Context(), secret)
	}
	if err != nil {
		i.Fatal(err)
	}
	ready := []any{map[string]any{"type": "Ready", "status": "True", "message": "issued"}}
	if err := errors.Join(unstructured.SetNestedSlice(certificate.Object, ready, "status", "conditions"), i.client.Status().Update(i.Context(), &certificate)); err != nil {
		i.Fatal(err)
	}
}

// handedOut returns no error if the user web has the certificate that was issued for it last, and no more CAs than some.
func (i *issuer) handedOut(authorities int) error {
	held, issued := i.secret("-web-tls"), i.secret("-web-issued")
	if len(held["tls.crt"]) == 0 || string(held["tls.crt"]) != string(issued["tls.crt"]) || string(held["tls.key"]) != string(issued["tls.key"]) {
		return errors.New("the user does not have the certificate that was issued")
	}
	if have := strings.Count(string(held["ca.crt"]), "BEGIN CERTIFICATE"); have > authorities {
		return fmt.Errorf("the user trusts %d CAs", have)
	}
	return nil
}

// accepted fails the test if a member refuses the certificate of the user web.
func (i *issuer) accepted() {
	i.Helper()
	for _, refused := range []string{"permission denied", "tls: ", "x509: "} {
		if out, err := i.etcdctlWith("-web-tls", "--command-timeout=2s", "get", "/shop/a"); err != nil && strings.Contains(out, refused) {
			i.Errorf("the client is refused: %v: %s", err, out)
		}
	}
}

// cert-manager had to be asked by hand for the certificate of a user, and a user of another CA than that of the members was refused.
func TestAUserOfCertManagerMayDoWhatItsUserInTheSpecMay(t *testing.T) {
	t.Parallel()
	kubetest.MustKubectl(t, kubetest.CertificateCRD, "apply", "-f", "-")
	kubetest.MustKubectl(t, "", "wait", "customresourcedefinition/certificates.cert-manager.io", "--for=condition=Established", "--timeout=60s")
	i := &issuer{bench: newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: newer, TLS: &v1beta2.TLSPolicy{
			AcceptClients: v1beta2.AcceptClientsOfCluster, CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "ca"}, CAOverlap: lasting(0)},
		},
		Auth: &v1beta2.AuthPolicy{
			Enabled: ptr.To(true), Roles: []v1beta2.AuthRole{roleFor("shop", "/shop/")},
			Users: []v1beta2.AuthUser{{Name: "client", Roles: []string{"shop"}}, {Name: "web", Roles: []string{"shop"}, Certificate: &v1beta2.AuthCertificate{}}},
		},
	})}
	i.renewCA()
	kubetest.Create(i, i.cluster)
	i.operate(&killer.Chain{}, "form a cluster", func() error {
		i.signNew()
		return errors.Join(i.isReady(), i.handedOut(1))
	})
	i.limitedTo("/shop/")
	if binding, held := i.cluster.Status.Binding, i.secret("-web-tls"); binding == nil || binding.Name != "example-web-tls" || string(held["username"]) != "web" || len(held["endpoints"]) == 0 {
		t.Errorf("the status names the binding %+v, and the Secret has %d keys", binding, len(held))
	}
	i.step("the issuer gets another CA, and the certificate of the user is renewed first", func(*bench) {
		i.renewCA()
		i.renew("web")
		i.operate(&killer.Count{}, "hand it out", func() error {
			i.accepted()
			return errors.Join(i.isReady(), i.handedOut(2))
		})
		i.limitedTo("/shop/")
	})
	i.step("the others follow, and the operator is killed", func(*bench) {
		i.renew("peer", "server", "client", "operator")
		i.operate(&killer.Chain{}, "hand them out", func() error {
			i.accepted()
			return errors.Join(i.isReady(), i.handedOut(1), i.serveCurrentCertificates())
		})
		i.limitedTo("/shop/")
	})
	i.step("the user leaves the spec", func(*bench) {
		i.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Auth.Users = spec.Auth.Users[:1] })
		i.operate(&killer.Chain{}, "delete its Certificate", func() error {
			if err := i.isReady(); err != nil {
				return err
			}
			for _, certificate := range i.list() {
				if certificate.GetName() == "example-web" {
					return errors.New("it is still there")
				}
			}
			if len(i.list()) != 4 || len(i.cluster.Status.UserCertificates) > 0 {
				return fmt.Errorf("%d Certificates are left, and the status names %v", len(i.list()), i.cluster.Status.UserCertificates)
			}
			return nil
		})
	})
}
