package certificates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// CertifyUsers writes the certificates of users, also while the cluster is paused or hibernates. After a replacement of the CA, the certificate of
// clients changes first, and those of users follow in the next pass.
func CertifyUsers(s state.State) steps.Step {
	c, due := s.Certificates, s.UserCertificates.Due
	if len(due) == 0 || c.Missing || c.Foreign != "" || c.CA.Broken != "" {
		return nil
	}
	what := "user " + due[0].User + ": " + due[0].Cause
	if more := len(due) - 1; more > 0 {
		what = fmt.Sprintf("user %s and of %d more: %s", due[0].User, more, due[0].Cause)
	}
	if write := (steps.WriteUserCertificates{What: what}); s.UserCertificates.Urgent || !awaitsClocks(s, write) {
		return write
	}
	return nil // reportClock
}

// Binding is the Secret of the first user with a certificate; nil without one. What another owner keeps in a Secret of that name is not for clients of this
// cluster.
func Binding(s state.State) *v1beta2.ServiceBinding {
	certified := s.Spec.Auth.Certified()
	if len(certified) == 0 || s.Spec.TLS == nil || s.Spec.TLS.Managed == nil {
		return nil
	}
	name := state.UserSecret(s, certified[0])
	if slices.Contains(s.UserCertificates.Taken, name) {
		return nil
	}
	return &v1beta2.ServiceBinding{Name: name}
}

// UncertifiedUsers reports on a healthy cluster which users have no certificate of the operator.
func UncertifiedUsers(s state.State) steps.Step {
	certified := s.Spec.Auth.Certified()
	switch {
	case len(certified) > 0 && (s.Spec.TLS == nil || s.Spec.TLS.Managed == nil):
		return steps.Wait{Reason: v1beta2.ReasonAccountsNotChanged, Stalled: true, Message: fmt.Sprintf("User %s of spec.auth.users has certificate: {}, which needs TLS.managed. "+
			"Issue its certificate otherwise, with the user as common name, and remove the field.", certified[0])}
	case len(s.UserCertificates.Taken) > 0:
		return steps.Wait{Reason: v1beta2.ReasonNotOurs, Stalled: true, Message: TakenByAnother("Secret " + strings.Join(some(s.UserCertificates.Taken), ", "))}
	case len(s.UserCertificates.Unread) > 0:
		return steps.Wait{Reason: v1beta2.ReasonSecretMissing, Stalled: true, Message: planning.Sentence("The operator cannot read the Secrets of users, and renews no certificate in them: ", strings.Join(some(s.UserCertificates.Unread), "; "))}
	}
	return nil
}

// some returns the first three texts, and how many more there are.
func some(texts []string) []string {
	const most = 3
	if len(texts) <= most {
		return texts
	}
	return append(texts[:most:most], fmt.Sprintf("and %d more", len(texts)-most))
}
