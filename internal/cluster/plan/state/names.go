package state

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
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
