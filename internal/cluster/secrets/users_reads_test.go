package secrets

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// The issuer shortened the lifetime of certificates below spec.TLS.certManager.renewBefore. cert-manager then renews in the last third, but each pass read
// all Secrets.
func TestAShorterCertificateThanRenewBeforeIsReadOnce(t *testing.T) {
	i := newIssuing(t)
	i.state.Spec.TLS.CertManager.RenewBefore = &metav1.Duration{Duration: 100 * 24 * time.Hour}
	for _, u := range state.Usages { // as cert-manager has them
		i.issuedAgain(Certificate(i.state, u))
	}
	i.issuedAgain(UserCertificate(i.state, "shop"))
	i.start()
	for range 10 {
		if v := i.pass(time.Minute); !settled(v.UserCertificates) {
			t.Fatalf("known is %+v", v.UserCertificates)
		}
	}
	if i.reads.n > 4+4+2 {
		t.Errorf("ten passes read %d Secrets", i.reads.n)
	}
}

func (i *issuing) issuedAgain(want *unstructured.Unstructured) {
	i.objects[want.GetName()].(*unstructured.Unstructured).Object["spec"] = want.Object["spec"]
}

// cert-manager issued nothing for a hundred users, and each pass read two hundred objects.
func TestManyUsersWithoutCertificatesCauseFewReads(t *testing.T) {
	i := newIssuing(t)
	for n := range 99 {
		user := fmt.Sprintf("user-%d", n)
		i.state.Spec.Auth.Users = append(i.state.Spec.Auth.Users, v1beta2.AuthUser{Name: user, Certificate: &v1beta2.AuthCertificate{}})
		i.issued(UserCertificate(i.state, user), state.UserRequest(i.state, user))
		delete(i.objects["example-"+user].(*unstructured.Unstructured).Object, "status")
	}
	i.start()
	i.pass(0)
	before := i.reads.n
	for n := range 10 {
		if v := i.pass(time.Duration(n) * 10 * time.Second); len(v.UserCertificates.Unissued) != 99 {
			t.Fatalf("without a certificate are %d", len(v.UserCertificates.Unissued))
		}
	}
	if reads := i.reads.n - before; reads > 10*12 {
		t.Errorf("ten passes read %d Secrets", reads)
	}
}
