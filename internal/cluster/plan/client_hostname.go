package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// An issuer of cert-manager, or a CA of the user, may sign for more than one cluster. etcd accepts each client certificate of a CA that it
// trusts. With spec.TLS.acceptClients: Cluster, each member also checks a name that only certificates for this cluster cover
// (--client-cert-allowed-hostname).

// ClientHostname is the name that a client certificate must cover. No DNS record has it. The members' certificates cover it by their
// wildcard, and etcdctl in a member's Pod uses them.
func (s State) ClientHostname() string { return "client." + s.Name + "." + s.Namespace + ".svc" }

// clientCheck is the flag with which etcd checks a name in the certificates of clients. Users may set it themselves.
const clientCheck = "client-cert-allowed-hostname"

// wantsClientNames reports whether the spec asks members to check the name.
func (s State) wantsClientNames() bool {
	return s.Spec.TLS.SecureClient() && s.Spec.TLS.AcceptClients == v1beta2.AcceptClientsOfCluster
}

// ChecksClients reports whether a member that starts now accepts only client certificates with the name. The certificates in the Secrets must
// have it before, and clients need time to load theirs.
func (s State) ChecksClients() bool {
	return s.wantsClientNames() && !s.Certificates.ClientsLackName && !s.userSets(clientCheck) && !s.clientsStillLoad()
}

// clientsStillLoad reports whether clients may still use a certificate without the name. If a member checks it, that time is over.
func (s State) clientsStillLoad() bool {
	return s.Formed() && s.Now.Before(s.Certificates.CheckClientsAfter) && !s.MembersCheckClients()
}

// MembersCheckClients reports whether a member checks the name by now.
func (s State) MembersCheckClients() bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.ChecksClients })
}

// CompareClientCheck marks the Pods as outdated that check the name although a Pod that is created now would not, or the other way round.
// The hash of what a Pod is made for has nothing of this, because it depends on certificates and on time.
func (s *State) CompareClientCheck() {
	checks := s.ChecksClients()
	for i := range s.Members {
		m := &s.Members[i]
		if m.Pod != PodNone && m.SecureClient && m.ChecksClients != checks {
			m.Outdated, m.Resize = true, ResizeNone
		}
	}
}

// LacksClientName reports whether a client certificate (PEM) can be read and does not cover the name of clients.
func (s State) LacksClientName(certificate []byte) bool {
	cert, err := pki.ParseCertificate(certificate)
	return err == nil && cert.VerifyHostname(s.ClientHostname()) != nil
}

// adviseOfClientName reports that members do not check the name of clients yet, although the spec asks for it.
func adviseOfClientName(s State) Step {
	switch {
	case !s.wantsClientNames() || s.userSets(clientCheck):
		return nil
	case s.Certificates.ClientsLackName:
		return Advice{
			Reason: v1beta2.ReasonCertificateLacksName,
			Message: s.clientLacksName() + " So members accept each client certificate of their CA, although spec.TLS.acceptClients is Cluster. " +
				"Add the name to the certificate. If the certificate is yours, add the name to those of your applications, too.",
		}
	case s.clientsStillLoad():
		return Advice{
			Reason: v1beta2.ReasonRotatingCertificates,
			Message: fmt.Sprintf("From %s on, members accept only client certificates with the name %s. Until then clients load their new certificate.",
				s.Certificates.CheckClientsAfter.UTC().Format(time.RFC3339), s.ClientHostname()),
		}
	}
	return nil
}

// whyClientRefused says that running members refuse the operator's certificate because of its name, as sentences that follow others. It is
// empty if that is not so.
func (s State) whyClientRefused() string {
	if !s.Certificates.ClientsLackName || !s.MembersCheckClients() {
		return ""
	}
	do := "Put a certificate with the name back into the Secret."
	if s.Spec.TLS.Issued() {
		do = "Set spec.TLS.acceptClients to Cluster, so that certificates with the name are issued."
	}
	return " " + s.clientLacksName() + " Members accept only clients with that name. " + do
}

func (s State) clientLacksName() string {
	key := v1beta2.ClientCertKey
	if !s.Spec.TLS.Issued() {
		key += " or tls.crt"
	}
	return fmt.Sprintf("The certificate in Secret %s (key %s) does not cover the DNS name %s.", s.Spec.TLS.OperatorSecret(s.Name), key, s.ClientHostname())
}
