package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// suffixAlphabet has no vowels and no characters that look alike, so that no suffix is a word.
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// suffixLength keeps names as long as those of coreos/etcd-operator: a cluster's name may have 63-1-10 characters.
const suffixLength = 10

// memberName derives a member's name from the cluster's UID, incarnation and an ordinal, so that a plan made
// twice makes the same names and two incarnations of one cluster name never share one.
func memberName(cluster string, uid types.UID, incarnation int32, ordinal int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", uid, incarnation, ordinal))
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = suffixAlphabet[int(sum[i])%len(suffixAlphabet)]
	}
	return cluster + "-" + string(suffix)
}

// InitialNames are the names of the members that form an incarnation.
func (s State) InitialNames(incarnation int32, size int) []string {
	names := make([]string, size)
	for ordinal := range names {
		names[ordinal] = memberName(s.Name, s.UID, incarnation, ordinal)
	}
	return names
}

// JoinPeers are the names that a member needs to join: those of the whole membership, and its own.
func (s State) JoinPeers(member string) []string {
	names := []string{member}
	for _, m := range s.membership() {
		if m.Name != member {
			names = append(names, m.Name)
		}
	}
	for _, m := range s.ForeignMembers {
		names = append(names, m.peerName())
	}
	slices.Sort(names)
	return names
}

// PeerURLs are those of a member that JoinPeers named.
func (s State) PeerURLs(name string) []string {
	for _, m := range s.ForeignMembers {
		if m.peerName() == name {
			return m.PeerURLs
		}
	}
	return []string{s.PeerURL(name)}
}

// nextName is the first name of the current incarnation that nothing carries: no Pod, no volume, no member,
// no annotation, and no survivor of a cancelled recovery. It is empty if all names are taken by which the operator recognises its own members.
func (s State) nextName() string {
	taken := make(map[string]bool, len(s.Members))
	for _, m := range s.Members {
		taken[m.Name] = true
	}
	for _, v := range s.SetAside {
		taken[v.Name] = true
	}
	for _, c := range s.CancelledSurvivors { // its volume may come back
		taken[c.Member] = true
	}
	for ordinal := range maxOrdinal {
		if name := memberName(s.Name, s.UID, s.Incarnation, ordinal); !taken[name] && !s.Asked.named(name) {
			return name
		}
	}
	return ""
}

// host is a member's DNS name, made by the headless Service.
func (s State) host(member string) string {
	return member + "." + s.Name + "." + s.Namespace + ".svc" + dotted(s.PodPolicy().ClusterDomain)
}

func (s State) PeerURL(member string) string {
	return URL(s.Spec.TLS.SecurePeer(), s.host(member), v1beta2.PeerPort)
}

func (s State) ClientURL(member string) string {
	return URL(s.Spec.TLS.SecureClient(), s.host(member), v1beta2.ClientPort)
}

// Token tells two incarnations of one cluster name apart: etcd hashes it into the cluster's and the members' IDs.
func (s State) Token(incarnation int32) string {
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
