package material

import (
	"cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Operator is the Secret with which the operators connect to members: their own, or that of clients until it exists.
func (m Material) Operator(s state.State) *Secret {
	if own := m.own(s); own != nil {
		return own
	}
	return m.HandedOut["client"]
}

// own is the Secret of the operators' own certificate. It is nil if there is none, or if no member accepts its certificate now and another party keeps the
// operator from renewing it.
func (m Material) own(s state.State) *Secret {
	own := m.HandedOut[state.OperatorUsage]
	if own == nil || m.Taken == "" {
		return own
	}
	pair := pki.Pair{Cert: own.Get(v1beta2.ClientCertKey), Key: own.Get(v1beta2.ClientKeyKey)}
	if _, err := pair.Leaf(); err != nil || expiry(s, pair, own.Get(v1beta2.ClientCAKey), pki.NewChecks(maxSignatures)) != "" {
		return nil
	}
	return own
}

// ClientName is the common name that the clients' certificate must have. A client of an earlier release keeps the common
// name root until the spec asks for another one, because authentication may be on. While the operator has no certificate of
// its own that it can use, it needs that one.
func (m Material) ClientName(s state.State) string {
	wanted := s.Spec.TLS.ClientCommonName()
	if presentClientName(m) == state.RootUser && (wanted == "" || m.own(s) == nil) {
		return state.RootUser
	}
	return cmp.Or(wanted, state.DefaultClientName)
}
