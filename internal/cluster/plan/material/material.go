package material

import (
	"bytes"
	"crypto/x509"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Keys of the CA's Secret, and of those that cert-manager writes.
const (
	CACertKey         = "ca.crt"
	CAKeyKey          = "ca.key"
	PreviousCACertKey = "previous-ca.crt"
	PreviousCAKeyKey  = "previous-ca.key"
	IssuedCertKey     = "tls.crt"
	IssuedKeyKey      = "tls.key"
	IssuedCAKey       = "ca.crt"
)

// Annotations of the Secrets that the operator writes.
const (
	// annotationTrustSince holds the time since when the Secrets hold their present CAs (RFC 3339).
	annotationTrustSince = v1beta2.Group + "/trust-since"
	// annotationCertificateSince holds the time since when they hold their certificate (RFC 3339).
	annotationCertificateSince = v1beta2.Group + "/certificate-since"
	// AnnotationClientName holds the common name of the clients' certificate. All Secrets have it, so that it is known if
	// the clients' Secret is deleted.
	AnnotationClientName = v1beta2.Group + "/client-name"
	// AnnotationClientHostnameSince holds the time since when the certificates of clients cover ClientHostname (RFC 3339).
	AnnotationClientHostnameSince = v1beta2.Group + "/client-hostname-since"
)

// Secret is what a Secret holds; nil where there is none.
type Secret struct {
	Data        map[string][]byte
	Annotations map[string]string
	Version     string
}

func (s *Secret) Get(key string) []byte {
	if s == nil {
		return nil
	}
	return s.Data[key]
}

func (s *Secret) since(annotation string) time.Time {
	if s == nil {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, s.Annotations[annotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// Material is what the Secrets of a cluster's certificates hold. It is kept out of the State, which may be printed.
type Material struct {
	// CA is the Secret of the cluster's own CA (TLS.managed).
	CA *Secret
	// HandedOut are the Secrets that members and clients use, by the name of the usage. Issued are those of cert-manager.
	HandedOut, Issued map[string]*Secret
	// Users are the Secrets with the certificates of users, by the name of the user. UsersIssued are those of cert-manager.
	Users, UsersIssued map[string]*Secret
	// UserChecks limits the signatures that are checked for all users together.
	UserChecks *pki.Checks
	// Rotate is the value of the annotation that requests a new CA.
	Rotate string
	// Taken is the Secret or Certificate for the operator's own certificate, if another owner has it.
	Taken string
}

// Withheld reports whether the operator issues no certificate for a usage, because another owner has its Secret or
// Certificate.
func (m Material) Withheld(u state.Usage) bool { return m.Taken != "" && !u.Vital() }

func (m Material) Pair(u state.Usage) pki.Pair {
	s := m.HandedOut[u.Name]
	return pki.Pair{Cert: s.Get(u.CertKey), Key: s.Get(u.KeyKey)}
}

func (m Material) IssuedPair(u state.Usage) pki.Pair {
	s := m.Issued[u.Name]
	return pki.Pair{Cert: s.Get(IssuedCertKey), Key: s.Get(IssuedKeyKey)}
}

// presentClientName is the common name of the clients' certificate. If it is missing or cannot be read, the other Secrets
// must agree on the name: the operator may have been killed while it wrote another one.
func presentClientName(m Material) string {
	held, err := pki.Pair{Cert: m.HandedOut["client"].Get(v1beta2.ClientCertKey), Key: m.HandedOut["client"].Get(v1beta2.ClientKeyKey)}.Leaf()
	if err == nil {
		return held.Subject.CommonName
	}
	name := ""
	for _, u := range state.Usages {
		secret := m.HandedOut[u.Name]
		if secret == nil || u.Name == "client" {
			continue
		}
		if recorded := secret.Annotations[AnnotationClientName]; recorded == "" || (name != "" && name != recorded) {
			return ""
		}
		name = secret.Annotations[AnnotationClientName]
	}
	return name
}

// NamedClients reports whether the certificate of clients or of the operator covers the name that members may check.
func (m Material) NamedClients(s state.State) bool {
	return slices.ContainsFunc(clientCertificates(m), func(cert []byte) bool { return len(cert) > 0 && !state.LacksClientName(s, cert) })
}

// lacksClientName reports whether one of them does not cover it.
func lacksClientName(m Material, s state.State) bool {
	return slices.ContainsFunc(clientCertificates(m), func(certificate []byte) bool { return state.LacksClientName(s, certificate) })
}

func clientCertificates(m Material) [][]byte {
	return [][]byte{m.HandedOut["client"].Get(v1beta2.ClientCertKey), m.HandedOut[state.OperatorUsage].Get(v1beta2.ClientCertKey)}
}

// ClientHostnameSince is what the annotation of a Secret must hold that is written now with a certificate: since when it covers the name. It
// is empty if it does not. If the certificate before had no name, clients may use that one for a while.
func ClientHostnameSince(m Material, s state.State, u state.Usage, certificate []byte) string {
	before := m.HandedOut[u.Name]
	switch {
	case u.Name != "client" && u.Name != state.OperatorUsage, state.LacksClientName(s, certificate):
		return ""
	case before == nil && !s.Formed():
		return time.Unix(0, 0).UTC().Format(time.RFC3339) // no client has a certificate without the name
	case before != nil && !state.LacksClientName(s, before.Get(u.CertKey)) && before.Annotations[AnnotationClientHostnameSince] != "":
		return before.Annotations[AnnotationClientHostnameSince]
	}
	return s.Now.UTC().Format(time.RFC3339)
}

// checkClientsAfter is when members may check the name of clients.
func checkClientsAfter(m Material, s state.State) time.Time {
	since := state.Later(m.HandedOut["client"].since(AnnotationClientHostnameSince), m.HandedOut[state.OperatorUsage].since(AnnotationClientHostnameSince))
	if since.IsZero() {
		return since
	}
	return since.Add(state.Validity(s).CaOverlap)
}

// Same reports whether two Secrets have the same data and are for the same name of clients.
func (s *Secret) Same(other *Secret) bool {
	return s.Annotations[AnnotationClientName] == other.Annotations[AnnotationClientName] && maps.EqualFunc(s.Data, other.Data, bytes.Equal)
}

// Bundle is all that the Secrets trust together.
func Bundle(m Material) pki.Bundle {
	var bundle pki.Bundle
	for _, u := range state.Usages {
		bundle = bundle.With(pki.ParseBundle(m.HandedOut[u.Name].Get(u.CaKey)))
	}
	return bundle
}

// Wanted are the CAs that sign certificates now.
func Wanted(m Material) pki.Bundle {
	if m.Issued == nil {
		return pki.ParseBundle(m.CA.Get(CACertKey))
	}
	var bundle pki.Bundle
	for _, u := range state.Usages {
		bundle = bundle.With(pki.ParseBundle(m.Issued[u.Name].Get(IssuedCAKey)))
	}
	return bundle
}

// inUse are the CAs that signed the certificates in use.
func inUse(m Material, checks *pki.Checks) pki.Bundle {
	bundle := Bundle(m)
	var signers pki.Bundle
	for _, u := range state.Usages {
		pair := m.Pair(u)
		if leaf, err := pair.Leaf(); err == nil {
			signers = signers.With(bundle.Signers(leaf, pki.ParseBundle(pair.Cert), checks))
		}
	}
	return signers
}

// Current returns the CA that signs now, with its key.
func Current(m Material) (*pki.CA, error) {
	return pki.ParseCA(pki.Pair{Cert: m.CA.Get(CACertKey), Key: m.CA.Get(CAKeyKey)})
}

func previous(m Material) *pki.CA {
	previous, err := pki.ParseCA(pki.Pair{Cert: m.CA.Get(PreviousCACertKey), Key: m.CA.Get(PreviousCAKeyKey)})
	if err != nil {
		return nil
	}
	return previous
}

// signerOf a certificate among the authorities whose key is known; nil when it is none of them.
func signerOf(m Material, leaf *x509.Certificate) *pki.CA {
	if current, err := Current(m); err == nil && leaf.CheckSignatureFrom(current.Certificate()) == nil {
		return current
	}
	if previous := previous(m); previous != nil && leaf.CheckSignatureFrom(previous.Certificate()) == nil {
		return previous
	}
	return nil
}

var errNoAuthority = errors.New("there is no CA to sign it")

// NewCA makes a CA. If the clocks differ, it is valid by both.
func NewCA(s state.State) (*pki.CA, error) {
	return pki.NewCA(s.Name+"."+s.Namespace+" etcd", state.EarlierNow(s), state.FromEarlier(s, state.Validity(s).CADuration))
}

// stillPrevious says whether certificates of the previous CA are in use.
func stillPrevious(m Material) bool {
	for _, u := range state.Usages {
		if leaf, err := m.Pair(u).Leaf(); err == nil {
			if previous := previous(m); previous != nil && leaf.CheckSignatureFrom(previous.Certificate()) == nil {
				return true
			}
		}
	}
	return false
}

// CASecret returns the name of the Secret with the CA.
func CASecret(s state.State) string { return s.Name + v1beta2.AuthoritySecretSuffix }

// has reports whether a Secret has all of some data.
func (s *Secret) has(data map[string][]byte) bool {
	for key, value := range data {
		if !bytes.Equal(s.Get(key), value) {
			return false
		}
	}
	return bytes.Equal(s.Get(IssuedCertKey), s.Get(v1beta2.ClientCertKey)) && bytes.Equal(s.Get(IssuedKeyKey), s.Get(v1beta2.ClientKeyKey))
}
