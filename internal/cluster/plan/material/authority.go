package material

import (
	"maps"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// The Secret of the CA also has the keys of a Secret of the type kubernetes.io/tls, so that the CA issuer of cert-manager and others can sign clients
// with it. While a CA is replaced, that is the CA that signed the certificate of clients: all members trust it. The new one they trust later.

// NewAuthority is the data of the Secret with the first CA. If clients have a certificate of a CA that was lost, members do not trust this one yet.
func (m Material) NewAuthority(authority *pki.CA) map[string][]byte {
	data := map[string][]byte{CACertKey: authority.Cert, CAKeyKey: authority.Key}
	if m.HandedOut["client"] == nil {
		data[IssuedCertKey], data[IssuedKeyKey] = authority.Cert, authority.Key
	}
	return data
}

// signingPair is the CA that others may sign clients with. It is empty if no member certainly trusts a CA whose key is known, and unknown while
// clients have no certificate.
func (m Material) signingPair() (pair pki.Pair, known bool) {
	leaf, err := pki.Pair{Cert: m.HandedOut["client"].Get(v1beta2.ClientCertKey), Key: m.HandedOut["client"].Get(v1beta2.ClientKeyKey)}.Leaf()
	if err != nil {
		return pki.Pair{}, false
	}
	if signer := signerOf(m, leaf); signer != nil {
		return signer.Pair, true
	}
	_, err = Current(m)
	return pki.Pair{}, err == nil
}

// incomplete says why the keys for others must be written; empty if they need not.
func (m Material) incomplete() string {
	pair, known := m.signingPair()
	held := pki.Pair{Cert: m.CA.Get(IssuedCertKey), Key: m.CA.Get(IssuedKeyKey)}
	switch {
	case !known || pair.Same(held):
		return ""
	case len(pair.Cert) == 0:
		return "no key is known of the CA that signed the certificate of clients"
	case len(held.Cert)+len(held.Key) == 0:
		return "it has no " + IssuedCertKey + " and " + IssuedKeyKey + " yet"
	}
	return "another CA signs the certificates of clients now"
}

// CompletedCA is the Secret of the CA with the keys for others, and since when it has them: clients have the overlap from then until an old CA is removed.
func (m Material) CompletedCA(s state.State) *Secret {
	annotations := maps.Clone(m.CA.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationCertificateSince] = state.Stamp(s).UTC().Format(time.RFC3339)
	return &Secret{Data: m.CompleteAuthority(), Annotations: annotations, Version: m.CA.Version}
}

// CompleteAuthority is the data of the CA's Secret with the keys for others.
func (m Material) CompleteAuthority() map[string][]byte {
	data := maps.Clone(m.CA.Data)
	pair, known := m.signingPair()
	switch {
	case !known:
	case len(pair.Cert) == 0:
		delete(data, IssuedCertKey)
		delete(data, IssuedKeyKey)
	default:
		data[IssuedCertKey], data[IssuedKeyKey] = pair.Cert, pair.Key
	}
	return data
}
