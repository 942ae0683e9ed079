package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// secretOf reads a Secret. It may not exist yet.
func secretOf(ctx context.Context, t *testing.T, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, kubetest.Client(t).Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
}

// clientSecret waits for the client TLS Secret of a cluster and checks that it is complete.
func clientSecret(t *testing.T, namespace, name string) (secret *corev1.Secret) {
	t.Helper()
	kubetest.Eventually(t, "the client TLS Secret exists", func(ctx context.Context) (err error) {
		secret, err = secretOf(ctx, t, namespace, name+v1beta2.ClientSecretSuffix)
		return err
	})
	if _, err := etcd.TLSConfig(secret.Data[v1beta2.ClientCertKey], secret.Data[v1beta2.ClientKeyKey], secret.Data[v1beta2.ClientCAKey]); err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(secret); owner == nil || owner.Name != name {
		t.Errorf("the owner of the Secret is %v, expected EtcdCluster %s", owner, name)
	}
	return secret
}

func operate(t *testing.T, namespace string) {
	kubetest.RunManager(t, namespace, func(_ context.Context, mgr manager.Manager) error {
		return cluster.Setup(mgr, cluster.Options{SeedImage: "seed"})
	})
}

func awaitCluster(t *testing.T, c *v1beta2.EtcdCluster, kind string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	kubetest.AwaitCondition(t, c, func(c *v1beta2.EtcdCluster) []metav1.Condition { return c.Status.Conditions }, kind, status, reason)
}

func newCluster(namespace, name string, tls *v1beta2.TLSPolicy) *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1beta2.EtcdClusterSpec{Size: 1, Pod: &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}, TLS: tls},
	}
}

func TestManagedCertificatesAreIssuedWithoutChangingForeignSecrets(t *testing.T) {
	t.Parallel()
	namespace := kubetest.Namespace(t)
	operate(t, namespace)
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-ca"}, StringData: map[string]string{"mine": "precious"}}
	kubetest.Create(t, foreign)
	managed := newCluster(namespace, "a", &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}})
	kubetest.Create(t, managed)
	awaitCluster(t, managed, v1beta2.ConditionStalled, metav1.ConditionTrue, v1beta2.ReasonNotOurs)
	if secret, err := secretOf(t.Context(), t, namespace, "a-ca"); err != nil || len(secret.Data) != 1 || string(secret.Data["mine"]) != "precious" {
		t.Fatalf("the operator changed a Secret that it does not own, error %v", err)
	}
	if err := kubetest.Client(t).Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	first := clientSecret(t, namespace, "a")

	if err := kubetest.Client(t).Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := clientSecret(t, namespace, "a")
	if string(first.Data[v1beta2.ClientCAKey]) != string(second.Data[v1beta2.ClientCAKey]) {
		t.Error("the operator replaced the CA when it reissued a deleted certificate, so other clients no longer trust the members")
	}
}

var certManager sync.Once

// installCertManager installs the CRD of cert-manager for all tests. The first of them sees what the operator reports before.
func installCertManager(t *testing.T) {
	t.Helper()
	certManager.Do(func() {
		namespace := kubetest.Namespace(t)
		operate(t, namespace)
		c := newCluster(namespace, "early", &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "ca"}}})
		kubetest.Create(t, c)
		awaitCluster(t, c, v1beta2.ConditionStalled, metav1.ConditionTrue, v1beta2.ReasonCertManagerMissing)
		kubetest.MustKubectl(t, kubetest.CertificateCRD, "apply", "-f", "-")
		kubetest.MustKubectl(t, "", "wait", "customresourcedefinition/certificates.cert-manager.io", "--for=condition=Established", "--timeout=60s")
		awaitCluster(t, c, v1beta2.ConditionReady, metav1.ConditionFalse, v1beta2.ReasonCertificateNotReady)
	})
}

func TestCertificatesOfCertManagerAreCopiedForTheCluster(t *testing.T) {
	t.Parallel()
	installCertManager(t)
	namespace := kubetest.Namespace(t)
	operate(t, namespace)
	c := newCluster(namespace, "b", &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{
		IssuerRef: v1beta2.IssuerRef{Name: "ca"}, Duration: &metav1.Duration{Duration: 48 * time.Hour},
	}})
	kubetest.Create(t, c)
	awaitCluster(t, c, v1beta2.ConditionReady, metav1.ConditionFalse, v1beta2.ReasonCertificateNotReady)
	authority, err := pki.NewCA("issuer", time.Now(), 100*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, usage := range []string{"peer", "server", "client", "operator"} {
		issue(t, authority, namespace, "b-"+usage)
	}
	secret := clientSecret(t, namespace, "b")
	if string(secret.Data[v1beta2.ClientCAKey]) != string(authority.Cert) {
		t.Error("the client Secret does not contain the CA of the issuer")
	}
	issue(t, authority, namespace, "b-client")
	kubetest.Eventually(t, "the operator copies the renewed certificate", func(ctx context.Context) error {
		after, err := secretOf(ctx, t, namespace, "b-client-tls")
		if err == nil && string(after.Data[v1beta2.ClientCertKey]) == string(secret.Data[v1beta2.ClientCertKey]) {
			return errors.New("the Secret still has the old certificate")
		}
		return err
	})
	withoutACertificateOfTheOperator(t, authority, namespace)
}

// cert-manager sees the operator as the requester, so each user who may create an EtcdCluster got certificates of every issuer.
func TestTheOperatorRequestsNoCertificatesOfAnIssuerThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	installCertManager(t)
	namespace := kubetest.Namespace(t)
	kubetest.RunManager(t, namespace, func(_ context.Context, mgr manager.Manager) error {
		return cluster.Setup(mgr, cluster.Options{SeedImage: "seed", Issuers: []string{"ClusterIssuer/etcd"}})
	})
	issuedBy := func(name, issuer string) *v1beta2.EtcdCluster {
		return newCluster(namespace, name, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: issuer, Kind: "ClusterIssuer"}}})
	}
	refused, allowed := issuedBy("refused", "corp-ca"), issuedBy("allowed", "etcd")
	kubetest.Create(t, refused, allowed)
	awaitCluster(t, refused, v1beta2.ConditionStalled, metav1.ConditionTrue, v1beta2.ReasonIssuerNotAllowed)
	awaitCluster(t, allowed, v1beta2.ConditionReady, metav1.ConditionFalse, v1beta2.ReasonCertificateNotReady)
	names := kubetest.MustKubectl(t, "", "get", "certificates.cert-manager.io", "--namespace", namespace, "--output=name")
	if strings.Contains(names, "refused") || strings.Count(names, "allowed-") != 4 {
		t.Errorf("the operator requested these Certificates:\n%s", names)
	}
}

// An earlier release did not use the name <cluster>-operator-tls. A user's Secret with that name must not end all renewals.
func withoutACertificateOfTheOperator(t *testing.T, authority *pki.CA, namespace string) {
	t.Helper()
	users := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "taken" + v1beta2.OperatorSecretSuffix}, StringData: map[string]string{"mine": "precious"}}
	kubetest.Create(t, users)
	c := newCluster(namespace, "taken", &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "ca"}}})
	kubetest.Create(t, c)
	for _, usage := range []string{"peer", "server", "client"} {
		issue(t, authority, namespace, "taken-"+usage)
	}
	secret := clientSecret(t, namespace, "taken")
	issue(t, authority, namespace, "taken-client")
	kubetest.Eventually(t, "the operator copies the renewed certificate although a user has its Secret", func(ctx context.Context) error {
		after, err := secretOf(ctx, t, namespace, "taken-client-tls")
		if err == nil && string(after.Data[v1beta2.ClientCertKey]) == string(secret.Data[v1beta2.ClientCertKey]) {
			return errors.New("the Secret still has the old certificate")
		}
		return err
	})
	if after, err := secretOf(t.Context(), t, namespace, users.Name); err != nil || len(after.Data) != 1 || string(after.Data["mine"]) != "precious" || len(after.OwnerReferences) != 0 {
		t.Errorf("the operator changed a Secret that it does not own: %v, error %v", after.Data, err)
	}
}

// issue acts as cert-manager: it writes the Secret of a Certificate and sets the Certificate to Ready.
func issue(t *testing.T, authority *pki.CA, namespace, name string) {
	t.Helper()
	certificate := &unstructured.Unstructured{}
	certificate.SetAPIVersion("cert-manager.io/v1")
	certificate.SetKind("Certificate")
	kubetest.Eventually(t, "Certificate "+name+" exists", func(ctx context.Context) error {
		return kubetest.Client(t).Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, certificate)
	})
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(certificate.Object, "spec", name)
		return value
	}
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	pair, err := authority.Issue(pki.Request{CommonName: field("commonName"), DNSNames: names, Server: true, Client: true}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	secret := fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s}, stringData: {tls.crt: %q, tls.key: %q, ca.crt: %q}}", field("secretName"), pair.Cert, pair.Key, authority.Cert)
	kubetest.MustKubectl(t, secret, "apply", "-n", namespace, "-f", "-")
	kubetest.MustKubectl(t, "", "patch", "certificates.cert-manager.io", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
}
