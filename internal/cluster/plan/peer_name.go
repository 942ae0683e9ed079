package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// One CA signs the certificates of members and of clients, and etcd's peer port accepts every certificate of its CA. So each member
// also checks a name that only certificates of members cover (--peer-cert-allowed-hostname). It checks both ends of a connection:
// the certificate of a peer that connects, and that of a peer to which it connects.

// PeerHostname is the name that a certificate must cover to open the peer port. It is under the wildcard that peer certificates have
// always had, and no DNS record has it.
func (s State) PeerHostname() string { return "peer." + s.Name + "." + s.Namespace + ".svc" }

// peerChecks are the flags with which etcd checks a name in the certificates of peers. Users may set one themselves, and etcd takes
// only one of them.
var peerChecks = []string{"peer-cert-allowed-hostname", "peer-cert-allowed-cn"}

// peerClientCertificate is the flag of a certificate that a member shows instead of that in the Secret when it connects to another one.
const peerClientCertificate = "peer-client-cert-file"

// firstWithPeerChecks is the first release of etcd that has both.
const firstWithPeerChecks = "3.4.0"

// ChecksPeers reports whether a member that starts now lets only certificates with the name of peers into its peer port. A static
// certificate may lack the name, and the certificate of a foreign member is unknown. So is one that etcdEnv names.
func (s State) ChecksPeers(incarnation int32) bool {
	foreign := incarnation == s.Incarnation && len(s.ForeignMembers) > 0
	return s.Spec.TLS.SecurePeer() && !s.Certificates.PeerLacksName && !foreign && !s.userChecksPeers() && !s.userSets(peerClientCertificate) &&
		!Older(s.VersionFor(incarnation), firstWithPeerChecks)
}

// userChecksPeers reports whether spec.pod.etcdEnv sets a check of its own.
func (s State) userChecksPeers() bool { return s.userSets(peerChecks...) }

// userSets reports whether spec.pod.etcdEnv gives one of these flags a value.
func (s State) userSets(flags ...string) bool {
	for _, e := range s.PodPolicy().EtcdEnv {
		if flag, ok := etcdflags.Of(e.Name); ok && slices.Contains(flags, flag.Name) && (e.Value != "" || e.ValueFrom != nil) {
			return true
		}
	}
	return false
}

// LacksPeerName reports whether a peer certificate (PEM) can be read and does not cover the name of peers.
func (s State) LacksPeerName(certificate []byte) bool {
	cert, err := pki.ParseCertificate(certificate)
	return err == nil && cert.VerifyHostname(s.PeerHostname()) != nil
}

// refusesPeers reports whether a member refuses the certificate that the Secret of peers holds now.
func (s State) refusesPeers(m Member) bool { return m.ChecksPeers && s.Certificates.PeerLacksName }

// peersRefuseCertificate reports a peer certificate that running members refuse. They load it within two minutes, and then accept no new
// connection of each other. So the operator adds, restarts and replaces no member until the certificate has the name.
func peersRefuseCertificate(s State) Step {
	if why := s.whyPeersRefuse(); why != "" {
		return Wait{Reason: v1beta2.ReasonCertificateLacksName, Stalled: true, Message: strings.TrimSpace(why) + " Until then the operator changes no member."}
	}
	return nil
}

// whyPeersRefuse says which certificate running members refuse, and what to do, as sentences that follow others. It is empty if they refuse
// none.
func (s State) whyPeersRefuse() string {
	refusing := s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.Pod == PodRunning && s.refusesPeers(m) })
	if len(refusing) == 0 {
		return ""
	}
	return " " + s.lacksName() + fmt.Sprintf(" Member %s accepts only certificates with that name from other members, so members lose their connections when they reconnect. "+
		"Put a certificate with the name back into the Secret.", refusing[0].Name)
}

// adviseOfPeerName reports a peer certificate without the name, with which members run that cannot check it.
func adviseOfPeerName(s State) Step {
	if !s.Certificates.PeerLacksName || !s.Spec.TLS.SecurePeer() || s.userChecksPeers() {
		return nil
	}
	return Advice{
		Reason: v1beta2.ReasonCertificateLacksName,
		Message: s.lacksName() + " So members accept each certificate of the CA as a peer, and each client can read and write all data through the peer port. " +
			"Add *." + s.Name + "." + s.Namespace + ".svc to the DNS names of the certificate.",
	}
}

func (s State) lacksName() string {
	return fmt.Sprintf("The certificate in Secret %s (key %s or tls.crt) does not cover the DNS name %s.", s.Spec.TLS.PeerSecret(s.Name), v1beta2.PeerCertKey, s.PeerHostname())
}
