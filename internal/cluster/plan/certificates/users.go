package certificates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// CertifyUsers writes the certificates of users, also while the cluster is paused or hibernates. After a replacement of the CA, the certificate of
// clients changes first, and those of users follow in the next pass.
func CertifyUsers(s state.State) steps.Step {
	c, due := s.Certificates, s.UserCertificates.Due
	if len(due) == 0 || c.Missing || c.Foreign != "" || c.CA.Broken != "" {
		return nil
	}
	if write := (steps.WriteUserCertificates{What: first(due)}); s.UserCertificates.Urgent || !awaitsClocks(s, write) {
		return write
	}
	return nil // reportClock
}

// first names the first of some certificates, and how many more there are.
func first(of []state.UserCertificate) string {
	if more := len(of) - 1; more > 0 {
		return fmt.Sprintf("user %s and of %d more: %s", of[0].User, more, of[0].Cause)
	}
	return "user " + of[0].User + ": " + of[0].Cause
}

// SwitchUsers gives users the certificates of another CA, when all members have restarted and trust it.
func SwitchUsers(s state.State) steps.Step {
	later := s.UserCertificates.Outdated
	if len(later) == 0 || !s.Formed() || !s.MembershipKnown || s.Certificates.Unknown || seedTrustsOldCA(s) {
		return nil
	}
	return steps.WriteUserCertificates{Switch: true, What: first(later)}
}

// RequestUsers has cert-manager issue the certificates of users. The status names them before. So the operator finds the Certificates of those that have left
// the spec, which cert-manager would renew without end. One that cannot be deleted holds up no request.
func RequestUsers(s state.State) steps.Step {
	u := s.UserCertificates
	if s.Spec.TLS == nil || s.Spec.TLS.CertManager == nil || s.Certificates.Foreign != "" {
		return nil
	}
	recorded, unrecorded := RecordedRequests(s)
	withdraw := steps.WithdrawUserCertificates{What: "user " + strings.Join(some(u.Left), ", ")}
	switch {
	case len(u.Left) > 0 && waits.May(s, withdraw):
		return withdraw
	case len(u.Requests) == 0 || s.Certificates.IssuerRefused != "":
		return nil
	case len(unrecorded) > 0:
		return steps.AnnounceUserCertificates{Users: len(unrecorded)}
	case len(recorded) == 0:
		return nil // UncertifiedUsers
	}
	return steps.RequestUserCertificates{What: "user " + strings.Join(some(recorded), ", ")}
}

// RecordedRequests are the users whose Certificate is to be requested: those that the status names, and those that it is to name. Others wait until a Certificate
// of one that has left is deleted.
func RecordedRequests(s state.State) (recorded, unrecorded []string) {
	named := RequestedUsers(s)
	for _, user := range s.UserCertificates.Requests {
		switch {
		case slices.Contains(s.RequestedUsers, user):
			recorded = append(recorded, user)
		case slices.Contains(named, user):
			unrecorded = append(unrecorded, user)
		}
	}
	return recorded, unrecorded
}

// MaxRequested is how many users the status names: the hundred that a spec may have, and as many that have left it. Something may keep the Certificates of those
// from deletion, and each pass reads them.
const MaxRequested = 200

// RequestedUsers are the users that the status names: those that left the spec and may still have a Certificate, and those of the spec, as far as there is
// place.
func RequestedUsers(s state.State) (users []string) {
	if s.Spec.TLS == nil || s.Spec.TLS.CertManager == nil {
		return nil
	}
	certified := s.Spec.Auth.Certified()
	for _, user := range s.RequestedUsers {
		if !slices.Contains(certified, user) && !slices.Contains(s.UserCertificates.Gone, user) {
			users = append(users, user)
		}
	}
	for _, user := range certified {
		if len(users) < MaxRequested || slices.Contains(s.RequestedUsers, user) {
			users = append(users, user)
		}
	}
	return users
}

// Binding is the Secret of the first user with a certificate; nil without one. What another owner keeps in a Secret of that name is not for clients of this
// cluster.
func Binding(s state.State) *v1beta2.ServiceBinding {
	certified := s.Spec.Auth.Certified()
	if len(certified) == 0 || !s.Spec.TLS.Issued() {
		return nil
	}
	name := state.UserSecret(s, certified[0])
	if slices.Contains(s.UserCertificates.Taken, "Secret "+name) {
		return nil
	}
	return &v1beta2.ServiceBinding{Name: name}
}

// UncertifiedUsers reports on a healthy cluster which users have no certificate of the operator.
func UncertifiedUsers(s state.State) steps.Step {
	certified := s.Spec.Auth.Certified()
	switch {
	case len(certified) > 0 && !s.Spec.TLS.Issued():
		return steps.Wait{Reason: v1beta2.ReasonAccountsNotChanged, Stalled: true, Message: fmt.Sprintf("User %s of spec.auth.users has certificate: {}, which needs TLS.managed or TLS.certManager. "+
			"Issue its certificate otherwise, with the user as common name, and remove the field.", certified[0])}
	case len(s.UserCertificates.Taken) > 0:
		return steps.Wait{Reason: v1beta2.ReasonNotOurs, Stalled: true, Message: TakenByAnother(strings.Join(some(s.UserCertificates.Taken), ", "))}
	case len(s.UserCertificates.Unread) > 0:
		return steps.Wait{Reason: v1beta2.ReasonSecretMissing, Stalled: true, Message: planning.Sentence("The operator cannot read the Secrets of users, and renews no certificate in them: ", strings.Join(some(s.UserCertificates.Unread), "; "))}
	case len(s.UserCertificates.Requests) > 0 && s.Certificates.IssuerRefused != "":
		return steps.Wait{Reason: v1beta2.ReasonIssuerNotAllowed, Stalled: true, Message: s.Certificates.IssuerRefused + " So user " + strings.Join(some(s.UserCertificates.Requests), ", ") + " gets none."}
	case len(unnamed(s)) > 0:
		return steps.Wait{Reason: v1beta2.ReasonCertificateNotReady, Stalled: true, Message: fmt.Sprintf("%d users that left spec.auth still have a Certificate, for example because a finalizer keeps it. "+
			"The operator remembers at most %d users, so user %s gets no certificate. Find out what keeps the Certificates of %s.", len(s.UserCertificates.Left), MaxRequested, strings.Join(some(unnamed(s)), ", "), strings.Join(some(s.UserCertificates.Left), ", "))}
	case len(s.UserCertificates.Unissued) > 0:
		return steps.Wait{Reason: v1beta2.ReasonCertificateNotReady, Message: strings.Join(some(s.UserCertificates.Unissued), " ")}
	}
	return nil
}

// unnamed are the users whose Certificate waits for a place in the status.
func unnamed(s state.State) []string {
	recorded, unrecorded := RecordedRequests(s)
	return slices.DeleteFunc(slices.Clone(s.UserCertificates.Requests), func(user string) bool { return slices.Contains(recorded, user) || slices.Contains(unrecorded, user) })
}

// some returns the first three texts, and how many more there are.
func some(texts []string) []string {
	const most = 3
	if len(texts) <= most {
		return texts
	}
	return append(texts[:most:most], fmt.Sprintf("and %d more", len(texts)-most))
}
