package certificates

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// An issuer of cert-manager, or a CA of the user, may sign for more than one cluster. etcd accepts each client certificate of a CA that it
// trusts. With spec.TLS.acceptClients: Cluster, each member also checks a name that only certificates for this cluster cover
// (--client-cert-allowed-hostname).

// clientCheck is the flag with which etcd checks a name in the certificates of clients. Users may set it themselves.
const clientCheck = "client-cert-allowed-hostname"

// ChecksClients reports whether a member that starts now accepts only client certificates with the name. The certificates in the Secrets must
// have it before, and clients need time to load theirs.
func ChecksClients(s state.State) bool {
	return state.WantsClientNames(s) && !s.Certificates.ClientsLackName && !userSets(s, clientCheck) && !clientsStillLoad(s)
}

// clientsStillLoad reports whether clients may still use a certificate without the name. If a member checks it, that time is over.
func clientsStillLoad(s state.State) bool {
	return s.Formed() && s.Now.Before(s.Certificates.CheckClientsAfter) && !state.MembersCheckClients(s)
}

// CompareClientCheck marks the Pods as outdated that check the name although a Pod that is created now would not, or the other way round.
// The hash of what a Pod is made for has nothing of this, because it depends on certificates and on time.
func CompareClientCheck(s *state.State) {
	checks := ChecksClients(*s)
	for i := range s.Members {
		m := &s.Members[i]
		if m.Pod != state.PodNone && m.SecureClient && m.ChecksClients != checks {
			m.Outdated, m.Resize = true, state.ResizeNone
		}
	}
}

// AdviseOfClientName reports that members do not check the name of clients yet, although the spec asks for it.
func AdviseOfClientName(s state.State) steps.Step {
	switch {
	case !state.WantsClientNames(s) || userSets(s, clientCheck):
		return nil
	case s.Certificates.ClientsLackName:
		return steps.Advice{
			Reason: v1beta2.ReasonCertificateLacksName,
			Message: state.ClientLacksName(s) + " So members accept each client certificate of their CA, although spec.TLS.acceptClients is Cluster. " +
				"Add the name to the certificate. If the certificate is yours, add the name to those of your applications, too.",
		}
	case clientsStillLoad(s):
		return steps.Advice{
			Reason: v1beta2.ReasonRotatingCertificates,
			Message: fmt.Sprintf("From %s on, members accept only client certificates with the name %s. Until then clients load their new certificate.",
				s.Certificates.CheckClientsAfter.UTC().Format(time.RFC3339), state.ClientHostname(s)),
		}
	}
	return nil
}
