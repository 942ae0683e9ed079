package certificates_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A cluster that runs must keep its certificates when an upgrade brings the list of allowed issuers.
func TestPlanOfAnIssuerThatIsNotAllowed(t *testing.T) {
	refused := plantest.Certs(func(c *state.Certificates) { c.IssuerRefused = "words." })
	differs := plantest.Certs(func(c *state.Certificates) { c.Requested = false })
	missing := plantest.Certs(func(c *state.Certificates) { c.Missing, c.Lacking = true, true })
	deleted := plantest.Certs(func(c *state.Certificates) { c.Missing, c.Due = true, "its Secret is missing" })
	unissued := plantest.Certs(func(c *state.Certificates) {
		c.Unissued, c.UnissuedReason = "It is not ready.", v1beta2.ReasonCertificateNotReady
	})
	due := plantest.Certs(func(c *state.Certificates) { c.Due = "it expires" })
	expires := plantest.Certs(func(c *state.Certificates) { c.Expires = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC) })
	const renews = "words. The cluster continues with the Certificates that it has, and cert-manager renews them."
	plantest.Plans{
		"requests no certificates for a new cluster": {
			plantest.StateWith(plantest.FromCertManager, missing, differs, refused), steps.Wait{Reason: v1beta2.ReasonIssuerNotAllowed, Message: "words.", Stalled: true},
		},
		"writes the certificates that exist to a cluster without Secrets": {
			plantest.StateWith(plantest.FromCertManager, plantest.Certs(func(c *state.Certificates) { c.Missing = true }), refused), steps.WriteCertificates{Cause: "none exist yet"},
		},
		"writes them also if another Certificate differs from the spec": {
			plantest.StateWith(plantest.FromCertManager, plantest.Certs(func(c *state.Certificates) { c.Missing = true }), differs, refused), steps.WriteCertificates{Cause: "none exist yet"},
		},
		"writes a deleted Secret again": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, deleted), steps.WriteCertificates{Cause: "its Secret is missing"},
		},
		"writes a deleted Secret again if the Certificates differ from the spec": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, differs, deleted), steps.WriteCertificates{Cause: "its Secret is missing"},
		},
		"writes a deleted Secret again while the cluster is paused": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, differs, deleted, func(s *state.State) { s.Spec.Paused = true }), steps.WriteCertificates{Cause: "its Secret is missing"},
		},
		"writes a deleted Secret again although another Certificate is not issued": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, differs, unissued, deleted), steps.WriteCertificates{Cause: "its Secret is missing"},
		},
		"stalls if a Certificate was not requested and is not issued": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, differs, unissued, expires),
			steps.Wait{Reason: v1beta2.ReasonIssuerNotAllowed, Message: "words. It is not ready. The cluster continues with the certificates that it has. The first of them expires at 2027-01-02T03:04:05Z.", Stalled: true},
		},
		"names the issuer if a Certificate that was requested is not issued": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, unissued), steps.Wait{Reason: v1beta2.ReasonCertificateNotReady, Message: "It is not ready. words."},
		},
		"advises of it while the cluster is healthy": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused), steps.Advice{Reason: v1beta2.ReasonIssuerNotAllowed, Message: renews},
		},
		"names the expiry if the Certificates differ from the spec": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, differs, expires),
			steps.Advice{Reason: v1beta2.ReasonIssuerNotAllowed, Message: "words. A Certificate is missing or differs from the spec. The cluster continues with the certificates that it has. The first of them expires at 2027-01-02T03:04:05Z."},
		},
		"copies renewed certificates": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, due), steps.WriteCertificates{Cause: "it expires"},
		},
		"copies renewed certificates of Certificates that differ from the spec": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, differs, due), steps.WriteCertificates{Cause: "it expires"},
		},
		"copies renewed certificates while the cluster is paused": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, differs, due, func(s *state.State) { s.Spec.Paused = true }), steps.WriteCertificates{Cause: "it expires"},
		},
		"recreates a member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.FromCertManager, refused, differs, plantest.With(1, plantest.WithoutPod)), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
	}.Run(t, plan.Plan)
}
