package act

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// issuingBeside is a cluster with certManager whose members accept only its own clients.
func issuingBeside(t *testing.T, objects ...client.Object) (*Actor, *view.View) {
	t.Helper()
	a, v := actorBeside(t, objects...)
	v.State = clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) {
		s.Spec.TLS = &v1beta2.TLSPolicy{AcceptClients: v1beta2.AcceptClientsOfCluster, CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "ca"}}}
	})
	return a, v
}

// ownedCertificate is a Certificate with a controller; without one if uid is empty.
func ownedCertificate(name, uid string) *unstructured.Unstructured {
	certificate := secrets.BlankCertificate()
	certificate.SetNamespace("ns")
	certificate.SetName(name)
	if uid != "" {
		certificate.SetOwnerReferences(clustertest.Controlled(types.UID(uid), name, nil).OwnerReferences)
	}
	return certificate
}

func (a *Actor) certificateNow(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	certificate := secrets.BlankCertificate()
	if err := a.APIReader.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, certificate); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		t.Fatal(err)
	}
	return certificate
}

func TestTheCertificateOfAUserIsForClientsOfItsClusterOnly(t *testing.T) {
	a, v := issuingBeside(t)
	v.UserCertificates.Requests, v.RequestedUsers = []string{"shop"}, []string{"shop"}
	if err := a.Act(t.Context(), v, steps.RequestUserCertificates{}); err != nil {
		t.Fatal(err)
	}
	certificate := a.certificateNow(t, "example-shop")
	if certificate == nil || !metav1.IsControlledBy(certificate, v.Cluster) {
		t.Fatalf("the Certificate is %v", certificate)
	}
	spec := certificate.Object["spec"].(map[string]any)
	usages, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "usages")
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	if spec["commonName"] != "shop" || spec["secretName"] != "example-shop-issued" || !slices.Equal(usages, []string{"digital signature", "client auth"}) || !slices.Equal(names, []string{"client.example.ns.svc"}) {
		t.Errorf("it asks for %v", spec)
	}
	before := certificate.GetUID()
	v.Spec.TLS.CertManager.IssuerRef.Name = "other"
	if err := a.Act(t.Context(), v, steps.RequestUserCertificates{}); err != nil {
		t.Fatal(err)
	}
	if issuer, _, _ := unstructured.NestedString(a.certificateNow(t, "example-shop").Object, "spec", "issuerRef", "name"); issuer != "other" || a.certificateNow(t, "example-shop").GetUID() != before {
		t.Errorf("it is not corrected: issuer %s", issuer)
	}
}

// The operator took over the Certificate of a person, or deleted it.
func TestACertificateOfAnotherOwnerIsNeitherChangedNorDeleted(t *testing.T) {
	for name, uid := range map[string]string{"a person": "", "another EtcdCluster": "uid-other"} {
		a, v := issuingBeside(t, ownedCertificate("example-shop", uid))
		v.UserCertificates.Requests, v.UserCertificates.Left = []string{"shop", "second"}, []string{"shop"}
		v.RequestedUsers = v.UserCertificates.Requests
		if err := a.Act(t.Context(), v, steps.RequestUserCertificates{}); !errors.Is(err, view.ErrForeign) {
			t.Errorf("that of %s is requested: %v", name, err)
		}
		if err := a.Act(t.Context(), v, steps.WithdrawUserCertificates{}); !errors.Is(err, view.ErrForeign) {
			t.Errorf("that of %s is deleted: %v", name, err)
		}
		if live := a.certificateNow(t, "example-shop"); live == nil || live.Object["spec"] != nil || metav1.IsControlledBy(live, v.Cluster) {
			t.Errorf("that of %s is now %v", name, live)
		}
		if a.certificateNow(t, "example-second") == nil {
			t.Error("the Certificate of another user waits for it")
		}
	}
}

func TestTheCertificateOfAUserThatLeftTheSpecIsDeleted(t *testing.T) {
	a, v := issuingBeside(t, ownedCertificate("example-old", "uid-example"), ownedCertificate("example-shop", "uid-example"))
	v.UserCertificates.Left = []string{"old", "gone"}
	if err := a.Act(t.Context(), v, steps.WithdrawUserCertificates{}); err != nil {
		t.Fatal(err)
	}
	if a.certificateNow(t, "example-old") != nil || a.certificateNow(t, "example-shop") == nil {
		t.Error("the Certificate of the user is there, or that of another one is not")
	}
}

// An issuer that the administrator does not allow signed for a user.
func TestNoCertificateOfAUserIsRequestedOfAnIssuerThatIsNotAllowed(t *testing.T) {
	a, v := issuingBeside(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "any"}})
	v.Spec.TLS.CertManager.IssuerRef.Kind = "ClusterIssuer"
	v.UserCertificates.Requests, v.RequestedUsers = []string{"shop"}, []string{"shop"}
	if err := a.Act(t.Context(), v, steps.RequestUserCertificates{}); err == nil || a.certificateNow(t, "example-shop") != nil {
		t.Errorf("a Certificate is requested: %v", err)
	}
}
