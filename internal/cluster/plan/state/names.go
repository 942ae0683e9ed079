package state

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// FirstIncarnation is the incarnation that a cluster is bootstrapped with.
const FirstIncarnation int32 = 1

// Initial are the members that form the cluster.
func Initial(s State) []Member {
	return s.Where(func(m Member) bool { return m.Incarnation == FirstIncarnation && m.InitialSize > 0 })
}

// DefaultDomain is the domain of most Kubernetes clusters. Members look each other's addresses up and compare the
// full names with those in the certificate.
const DefaultDomain = ".cluster.local"

// Dotted is a DNS suffix with its dot in front; empty stays empty.
func Dotted(domain string) string {
	if domain == "" {
		return ""
	}
	return "." + strings.Trim(domain, ".")
}

// CertifiedDomain is the suffix of the members' full names: that of the spec, or else that of the Kubernetes cluster.
func CertifiedDomain(s State) string {
	return cmp.Or(Dotted(s.PodPolicy().ClusterDomain), Dotted(s.ClusterDomain), DefaultDomain)
}

// suffixAlphabet has no vowels and no characters that look alike, so that no suffix is a word.
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// suffixLength keeps names as long as those of coreos/etcd-operator: a cluster's name may have 63-1-10 characters.
const suffixLength = 10

// MemberName derives a member's name from the cluster's UID, incarnation and an ordinal, so that a plan made
// twice makes the same names and two incarnations of one cluster name never share one.
func MemberName(cluster string, uid types.UID, incarnation int32, ordinal int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", uid, incarnation, ordinal))
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = suffixAlphabet[int(sum[i])%len(suffixAlphabet)]
	}
	return cluster + "-" + string(suffix)
}

// InitialNames are the names of the members that form an incarnation.
func InitialNames(s State, incarnation int32, size int) []string {
	names := make([]string, size)
	for ordinal := range names {
		names[ordinal] = MemberName(s.Name, s.UID, incarnation, ordinal)
	}
	return names
}

// Host is a member's DNS name, made by the headless Service.
func Host(s State, member string) string {
	return member + "." + s.Name + "." + s.Namespace + ".svc" + Dotted(s.PodPolicy().ClusterDomain)
}

// PeerURL returns the URL at which other members reach a member.
func PeerURL(s State, member string) string {
	return URL(s.Spec.TLS.SecurePeer(), Host(s, member), v1beta2.PeerPort)
}

// ClientURL returns the URL at which clients reach a member.
func ClientURL(s State, member string) string {
	return URL(s.Spec.TLS.SecureClient(), Host(s, member), v1beta2.ClientPort)
}

// Token tells two incarnations of one cluster name apart: etcd hashes it into the cluster's and the members' IDs.
func Token(s State, incarnation int32) string {
	return string(s.UID) + "-" + strconv.Itoa(int(incarnation))
}

// ClientService is the name of the Service for clients.
func (s State) ClientService() string { return s.Name + "-client" }

// URL is an address of a member.
func URL(secure bool, host string, port int32) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s:%d", scheme, host, port)
}

// MemberLike reports whether a name has the form of a member's name, of any cluster.
func MemberLike(name string) bool {
	cut := len(name) - suffixLength
	return cut > 1 && name[cut-1] == '-' && strings.Trim(name[cut:], suffixAlphabet) == ""
}

// Ordinal of a member, by its name; members that others named come last.
func Ordinal(s State, m Member) int {
	for ordinal := range MaxOrdinal {
		if MemberName(s.Name, s.UID, m.Incarnation, ordinal) == m.Name {
			return ordinal
		}
	}
	return MaxOrdinal
}

// MaxOrdinal bounds the search for a member's ordinal: names are reused from 0, so few are ever taken.
const MaxOrdinal = 64

// MemberNames returns the names of members.
func MemberNames(members []Member) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return names
}

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

// MemberOf is a member's name: its own word, or the first label of its peer URL's host.
func MemberOf(entry etcd.Member) string {
	if entry.Name != "" || len(entry.PeerURLs) == 0 {
		return entry.Name
	}
	_, host, _ := strings.Cut(entry.PeerURLs[0], "://")
	name, _, _ := strings.Cut(host, ".")
	return name
}
