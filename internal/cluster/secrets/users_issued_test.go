package secrets

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// issuing is an EtcdCluster with TLS.certManager and the user shop, for which cert-manager has issued everything.
type issuing struct {
	certified
	issuer *pki.CA
	// objects of the cluster, by kind and name.
	objects map[string]client.Object
}

func newIssuing(t *testing.T) *issuing {
	t.Helper()
	i := &issuing{certified: certified{T: t, state: clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) {
		s.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "ca"}}}
		s.Spec.Auth = &v1beta2.AuthPolicy{Users: []v1beta2.AuthUser{{Name: "shop", Certificate: &v1beta2.AuthCertificate{}}}}
	}, plantest.Secure)}, objects: map[string]client.Object{}}
	var err error
	if i.issuer, err = pki.NewCA("issuer", i.state.Now, 10000*time.Hour); err != nil {
		t.Fatal(err)
	}
	m := material.Material{HandedOut: map[string]*material.Secret{}, Issued: map[string]*material.Secret{}, UsersIssued: map[string]*material.Secret{}}
	for _, u := range state.Usages {
		m.Issued[u.Name] = i.issued(Certificate(i.state, u), state.CertificateRequest(i.state, u))
	}
	m.UsersIssued["shop"] = i.issued(UserCertificate(i.state, "shop"), state.UserRequest(i.state, "shop"))
	for _, u := range state.Usages {
		if m.HandedOut[u.Name], err = m.NewSecret(i.state, u, steps.WriteCertificates{Switch: true}); err != nil {
			t.Fatal(err)
		}
		i.secret(i.state.Name+u.Suffix, m.HandedOut[u.Name].Data)
	}
	held, err := material.NewUserSecret(m, i.state, "shop", steps.WriteUserCertificates{})
	if err != nil {
		t.Fatal(err)
	}
	i.secret("example-shop-tls", held.Data)
	return i
}

// issued adds a Certificate, and the Secret that cert-manager writes for it.
func (i *issuing) issued(certificate *unstructured.Unstructured, request pki.Request) *material.Secret {
	pair, err := i.issuer.Issue(request, i.state.Now, 90*24*time.Hour)
	if err != nil {
		i.Fatal(err)
	}
	certificate.SetOwnerReferences(clustertest.Controlled("uid-example", certificate.GetName(), nil).OwnerReferences)
	certificate.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	i.objects[certificate.GetName()] = certificate
	data := map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: i.issuer.Cert}
	name := certificate.GetName() + issuedSuffix
	i.objects[name] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{kube.AnnotationIssuedFor: certificate.GetName()}}, Data: data}
	return &material.Secret{Data: data}
}

func (i *issuing) secret(name string, data map[string][]byte) {
	i.objects[name] = &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", name, nil), Data: data}
}

// start lets an operator begin with the objects.
func (i *issuing) start() {
	var objects []client.Object
	for _, object := range i.objects {
		objects = append(objects, object)
	}
	i.s, _ = secretsBeside(i.T, objects...)
	i.reads = &countedReads{Client: i.s.Client}
	i.s.Client, i.s.Rereads = i.reads, budget(0)
}

func TestWhatIsKnownOfTheCertificateOfAUser(t *testing.T) {
	unowned := func(i *issuing, name string) { i.objects[name].SetOwnerReferences(nil) }
	for name, test := range map[string]struct {
		change func(*issuing)
		want   func(u state.UserCertificates) bool
	}{
		"all is well": {func(*issuing) {}, func(u state.UserCertificates) bool { return settled(u) && len(u.Due)+len(u.Taken) == 0 }},
		"it has none yet": {func(i *issuing) {
			delete(i.objects, "example-shop")
			delete(i.objects, "example-shop-issued")
			delete(i.objects, "example-shop-tls")
		}, func(u state.UserCertificates) bool {
			return slices.Equal(u.Requests, []string{"shop"}) && len(u.Due) == 0
		}},
		"it was deleted":         {func(i *issuing) { delete(i.objects, "example-shop") }, func(u state.UserCertificates) bool { return slices.Equal(u.Requests, []string{"shop"}) }},
		"its Secret was deleted": {func(i *issuing) { delete(i.objects, "example-shop-tls") }, func(u state.UserCertificates) bool { return len(u.Due) == 1 }},
		"it differs from the spec": {func(i *issuing) {
			i.objects["example-shop"].(*unstructured.Unstructured).Object["spec"].(map[string]any)["commonName"] = "root"
		}, func(u state.UserCertificates) bool {
			return slices.Equal(u.Requests, []string{"shop"})
		}},
		"it is not issued yet": {func(i *issuing) {
			delete(i.objects, "example-shop-issued")
			delete(i.objects["example-shop"].(*unstructured.Unstructured).Object, "status")
		}, func(u state.UserCertificates) bool {
			return len(u.Unissued) == 1 && strings.Contains(u.Unissued[0], "example-shop")
		}},
		"it is of a person": {func(i *issuing) { unowned(i, "example-shop") }, func(u state.UserCertificates) bool {
			return slices.Equal(u.Taken, []string{"Certificate example-shop"})
		}},
		"its Secret is of a person": {func(i *issuing) { unowned(i, "example-shop-tls") }, func(u state.UserCertificates) bool { return slices.Equal(u.Taken, []string{"Secret example-shop-tls"}) }},
		"cert-manager would overwrite a Secret": {func(i *issuing) {
			delete(i.objects, "example-shop")
			i.objects["example-shop-issued"].SetAnnotations(nil)
		}, func(u state.UserCertificates) bool {
			return slices.Equal(u.Taken, []string{"Secret example-shop-issued"}) && len(u.Requests) == 0
		}},
		"one left the spec": {func(i *issuing) {
			i.state.RequestedUsers, i.state.Spec.Auth = []string{"shop", "gone"}, nil
		}, func(u state.UserCertificates) bool {
			return slices.Equal(u.Left, []string{"shop"}) && slices.Equal(u.Gone, []string{"gone"})
		}},
		"the status names a Certificate of members": {func(i *issuing) { i.state.RequestedUsers = []string{"peer"} }, func(u state.UserCertificates) bool {
			return len(u.Left) == 0 && slices.Equal(u.Gone, []string{"peer"})
		}},
		"one left the spec, and its Certificate is of a person": {func(i *issuing) {
			unowned(i, "example-shop")
			i.state.RequestedUsers, i.state.Spec.Auth = []string{"shop"}, nil
		}, func(u state.UserCertificates) bool { return slices.Equal(u.Gone, []string{"shop"}) && len(u.Left) == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuing(t)
			test.change(i)
			i.start()
			v := i.pass(0)
			if !test.want(v.UserCertificates) {
				t.Errorf("known is %+v", v.UserCertificates)
			}
			if v.TLS == nil || v.SecretProblem != "" || v.Certificates.Foreign != "" || v.Certificates.Missing {
				t.Errorf("the cluster waits for a user: %s %+v", v.SecretProblem, v.Certificates)
			}
		})
	}
}

// Each pass read the Secrets of a user again, although cert-manager had issued everything.
func TestTheCertificatesOfUsersOfCertManagerAreReadOnce(t *testing.T) {
	i := newIssuing(t)
	i.start()
	for range 10 {
		i.pass(0)
	}
	if i.reads.n > 4+4+2 {
		t.Errorf("ten passes read %d Secrets", i.reads.n)
	}
	if v := i.pass(61*24*time.Hour, func(v *view.View) {}); len(v.UserCertificates.Due) > 0 {
		t.Errorf("due is %v", v.UserCertificates.Due)
	}
	if i.reads.n < 2*(4+4+2) {
		t.Errorf("when cert-manager renews, %d Secrets were read", i.reads.n)
	}
}
