package certificates

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
)

// One CA signs the certificates of members and of clients, and etcd's peer port accepts every certificate of its CA. So each member
// also checks a name that only certificates of members cover (--peer-cert-allowed-hostname). It checks both ends of a connection:
// the certificate of a peer that connects, and that of a peer to which it connects.

// peerChecks are the flags with which etcd checks a name in the certificates of peers. Users may set one themselves, and etcd takes
// only one of them.
var peerChecks = []string{"peer-cert-allowed-hostname", "peer-cert-allowed-cn"}

// peerClientCertificate is the flag of a certificate that a member shows instead of that in the Secret when it connects to another one.
const peerClientCertificate = "peer-client-cert-file"

// firstWithPeerChecks is the first release of etcd that has both.
const firstWithPeerChecks = "3.4.0"

// ChecksPeers reports whether a member that starts now lets only certificates with the name of peers into its peer port. A static
// certificate may lack the name, and the certificate of a foreign member is unknown. So is one that etcdEnv names.
func ChecksPeers(s state.State, incarnation int32) bool {
	foreign := incarnation == s.Incarnation && len(s.ForeignMembers) > 0
	return s.Spec.TLS.SecurePeer() && !s.Certificates.PeerLacksName && !foreign && !userChecksPeers(s) && !userSets(s, peerClientCertificate) &&
		!state.Older(state.VersionFor(s, incarnation), firstWithPeerChecks)
}

// userChecksPeers reports whether spec.pod.etcdEnv sets a check of its own.
func userChecksPeers(s state.State) bool { return userSets(s, peerChecks...) }

// userSets reports whether spec.pod.etcdEnv gives one of these flags a value.
func userSets(s state.State, flags ...string) bool {
	for _, e := range s.PodPolicy().EtcdEnv {
		if flag, ok := etcdflags.Of(e.Name); ok && slices.Contains(flags, flag.Name) && (e.Value != "" || e.ValueFrom != nil) {
			return true
		}
	}
	return false
}

// PeersRefuseCertificate reports a peer certificate that running members refuse. They load it within two minutes, and then accept no new
// connection of each other. So the operator adds, restarts and replaces no member until the certificate has the name.
func PeersRefuseCertificate(s state.State) steps.Step {
	if why := state.WhyPeersRefuse(s); why != "" {
		return steps.Wait{Reason: v1beta2.ReasonCertificateLacksName, Stalled: true, Message: strings.TrimSpace(why) + " Until then the operator changes no member."}
	}
	return nil
}

// AdviseOfPeerName reports a peer certificate without the name, with which members run that cannot check it.
func AdviseOfPeerName(s state.State) steps.Step {
	if !s.Certificates.PeerLacksName || !s.Spec.TLS.SecurePeer() || userChecksPeers(s) {
		return nil
	}
	return steps.Advice{
		Reason: v1beta2.ReasonCertificateLacksName,
		Message: state.LacksName(s) + " So members accept each certificate of the CA as a peer, and each client can read and write all data through the peer port. " +
			"Add *." + s.Name + "." + s.Namespace + ".svc to the DNS names of the certificate.",
	}
}
