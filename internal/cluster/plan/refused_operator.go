package plan

import (
	"crypto/x509"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// A certificate that has expired is replaced by one that members may not trust. Members keep the connections that they have, so their Pods stay
// ready, and a cluster of one member needs none. But they refuse the operator and each client that connects.

// maxRefusing is how many CAs are compared with those of members. A rotation has two or three.
const maxRefusing = 8

// refusing returns the fingerprints of the CAs that did not sign the certificate of the operator. The Secrets hold CAs in the order in which they
// came, so a member was started with some that follow each other. It also returns whether all of them have expired.
func (m Material) refusing(s state.State, bundle pki.Bundle, checks *pki.Checks) (prints string, expired bool) {
	held := m.Operator()
	pair := pki.Pair{Cert: held.Get(v1beta2.ClientCertKey), Key: held.Get(v1beta2.ClientKeyKey)}
	leaf, err := pair.Leaf()
	if err != nil {
		return "", false
	}
	signers := bundle.Signers(leaf, pki.ParseBundle(pair.Cert), checks)
	others := slices.DeleteFunc(slices.Clone(bundle), func(ca *x509.Certificate) bool { return slices.ContainsFunc(signers, ca.Equal) })
	if len(signers) == 0 || len(others) == 0 || len(others) > maxRefusing {
		return "", false
	}
	var sets []string
	for from := range others {
		for to := from + 1; to <= len(others); to++ {
			sets = append(sets, others[from:to].Fingerprint())
		}
	}
	return strings.Join(sets, " "), len(unexpired(s, others)) == 0
}

// refusesOperator reports whether a member was started with CAs that did not sign the certificate of the operator.
func refusesOperator(s state.State, m state.Member) bool {
	return m.Trust != "" && slices.Contains(strings.Fields(s.Certificates.Refusing), m.Trust)
}

// refusesFor reports whether a member whose Pod is ready has refused the operator for a time. It refuses all clients with the certificate in their Secret, too.
func refusesFor(s state.State, m state.Member, d time.Duration) bool {
	return refusesOperator(s, m) && m.PodReady && !m.Answers && !m.SilentSince.IsZero() && s.Now.Sub(m.SilentSince) > d
}

// refuseInUse reports whether all members that run refuse the certificates in use, and trust only the CAs that sign now: somebody has put those back.
func refuseInUse(s state.State) bool {
	if !s.Formed() || s.MembershipKnown || !s.Certificates.Outdated {
		return false
	}
	running := s.Where(func(m state.Member) bool {
		return m.Incarnation == s.Incarnation && m.Pod != state.PodNone && m.Pod != state.PodDeleting
	})
	return len(running) > 0 && !slices.ContainsFunc(running, func(m state.Member) bool {
		return m.Answers || m.Trust != s.Certificates.Wanted || !refusesOperator(s, m)
	})
}
