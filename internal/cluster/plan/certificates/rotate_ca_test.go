package certificates_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A user whose certificate the old CA has signed could not connect any more if members stopped to trust that CA. A CA that is never dropped is trusted
// although its key may have leaked.
func TestTheOldCAIsKeptWhileACertificateOfItMayBeInUse(t *testing.T) {
	unread := func(s *state.State) { s.UserCertificates.Unread = []string{"Secret example-user-shop"} }
	for name, test := range map[string]struct {
		of         plantest.Change
		unread     bool
		othersSign bool
		drops      bool
	}{
		"the operator's own CA": {plantest.Managed, false, false, true},
		"the operator's own CA, and a certificate of a user cannot be read": {plantest.Managed, true, false, true},
		"the operator's own CA, with which others sign":                     {plantest.Managed, false, true, false},
		"cert-manager's CA": {plantest.FromCertManager, false, false, true},
		"cert-manager's CA, and a certificate of a user cannot be read": {plantest.FromCertManager, true, false, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), test.of, plantest.Certs(func(c *state.Certificates) { c.Superseded, c.DropAfter = true, plantest.Noon }))
		for i := range s.Members {
			s.Members[i].ShowsNew = true
		}
		if test.unread {
			unread(&s)
		}
		if test.othersSign {
			s.Certificates.CA.Incomplete = "others sign with it"
		}
		step := certificates.RotateCA(s)
		if write, is := step.(steps.WriteCertificates); (is && write.Drop) != test.drops || !test.drops && step != nil {
			t.Errorf("%s: %T %+v", name, step, step)
		}
	}
}
