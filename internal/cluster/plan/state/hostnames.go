package state

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// ClientHostname is the name that a client certificate must cover. No DNS record has it. The members' certificates cover it by their
// wildcard, and etcdctl in a member's Pod uses them.
func ClientHostname(s State) string { return "client." + s.Name + "." + s.Namespace + ".svc" }

// WantsClientNames reports whether the spec asks members to check the name.
func WantsClientNames(s State) bool {
	return s.Spec.TLS.SecureClient() && s.Spec.TLS.AcceptClients == v1beta2.AcceptClientsOfCluster
}

// MembersCheckClients reports whether a member checks the name by now.
func MembersCheckClients(s State) bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.ChecksClients })
}

// LacksClientName reports whether a client certificate (PEM) can be read and does not cover the name of clients.
func LacksClientName(s State, certificate []byte) bool {
	cert, err := pki.ParseCertificate(certificate)
	return err == nil && cert.VerifyHostname(ClientHostname(s)) != nil
}

// WhyClientRefused says that running members refuse the operator's certificate because of its name, as sentences that follow others. It is
// empty if that is not so.
func WhyClientRefused(s State) string {
	if !s.Certificates.ClientsLackName || !MembersCheckClients(s) {
		return ""
	}
	do := "Put a certificate with the name back into the Secret."
	if s.Spec.TLS.Issued() {
		do = "Set spec.TLS.acceptClients to Cluster, so that certificates with the name are issued."
	}
	return " " + ClientLacksName(s) + " Members accept only clients with that name. " + do
}

// ClientLacksName says that the certificate of the operators lacks the name that members accept.
func ClientLacksName(s State) string {
	key := v1beta2.ClientCertKey
	if !s.Spec.TLS.Issued() {
		key += " or tls.crt"
	}
	return fmt.Sprintf("The certificate in Secret %s (key %s) does not cover the DNS name %s.", s.Spec.TLS.OperatorSecret(s.Name), key, ClientHostname(s))
}

// PeerHostname is the name that a certificate must cover to open the peer port. It is under the wildcard that peer certificates have
// always had, and no DNS record has it.
func PeerHostname(s State) string { return "peer." + s.Name + "." + s.Namespace + ".svc" }

// LacksPeerName reports whether a peer certificate (PEM) can be read and does not cover the name of peers.
func LacksPeerName(s State, certificate []byte) bool {
	cert, err := pki.ParseCertificate(certificate)
	return err == nil && cert.VerifyHostname(PeerHostname(s)) != nil
}

// RefusesPeers reports whether a member refuses the certificate that the Secret of peers holds now.
func RefusesPeers(s State, m Member) bool { return m.ChecksPeers && s.Certificates.PeerLacksName }

// WhyPeersRefuse says which certificate running members refuse, and what to do, as sentences that follow others. It is empty if they refuse
// none.
func WhyPeersRefuse(s State) string {
	refusing := s.Where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && m.Pod == PodRunning && RefusesPeers(s, m)
	})
	if len(refusing) == 0 {
		return ""
	}
	return " " + LacksName(s) + fmt.Sprintf(" Member %s accepts only certificates with that name from other members, so members lose their connections when they reconnect. "+
		"Put a certificate with the name back into the Secret.", refusing[0].Name)
}

// LacksName says that the certificate of peers lacks the name that members accept.
func LacksName(s State) string {
	return fmt.Sprintf("The certificate in Secret %s (key %s or tls.crt) does not cover the DNS name %s.", s.Spec.TLS.PeerSecret(s.Name), v1beta2.PeerCertKey, PeerHostname(s))
}
