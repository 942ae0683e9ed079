package material

import (
	"crypto/x509"
	"slices"
	"strings"

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
func refusing(m Material, s state.State, bundle pki.Bundle, checks *pki.Checks) (prints string, expired bool) {
	held := m.Operator(s)
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
