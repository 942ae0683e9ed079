package plan

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// annotationClientName holds the common name of the clients' certificate. All Secrets have it, so that it is known if
	// the clients' Secret is deleted.
	annotationClientName = v1beta2.Group + "/client-name"
	// annotationClientHostnameSince holds the time since when the certificates of clients cover ClientHostname (RFC 3339).
	annotationClientHostnameSince = v1beta2.Group + "/client-hostname-since"
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

// ClientName is the common name that the clients' certificate must have. A client of an earlier release keeps the common
// name root until the spec asks for another one, because authentication may be on. While the operator has no certificate of
// its own, it needs that one.
func (m Material) ClientName(s state.State) string {
	wanted := s.Spec.TLS.ClientCommonName()
	if m.presentClientName() == state.RootUser && (wanted == "" || m.HandedOut[state.OperatorUsage] == nil) {
		return state.RootUser
	}
	return cmp.Or(wanted, state.DefaultClientName)
}

// presentClientName is the common name of the clients' certificate. If it is missing or cannot be read, the other Secrets
// must agree on the name: the operator may have been killed while it wrote another one.
func (m Material) presentClientName() string {
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
		if recorded := secret.Annotations[annotationClientName]; recorded == "" || (name != "" && name != recorded) {
			return ""
		}
		name = secret.Annotations[annotationClientName]
	}
	return name
}

// NamedClients reports whether the certificate of clients or of the operator covers the name that members may check.
func (m Material) NamedClients(s state.State) bool {
	return slices.ContainsFunc(m.clientCertificates(), func(cert []byte) bool { return len(cert) > 0 && !state.LacksClientName(s, cert) })
}

// lacksClientName reports whether one of them does not cover it.
func (m Material) lacksClientName(s state.State) bool {
	return slices.ContainsFunc(m.clientCertificates(), func(certificate []byte) bool { return state.LacksClientName(s, certificate) })
}

func (m Material) clientCertificates() [][]byte {
	return [][]byte{m.HandedOut["client"].Get(v1beta2.ClientCertKey), m.HandedOut[state.OperatorUsage].Get(v1beta2.ClientCertKey)}
}

// clientHostnameSince is what the annotation of a Secret must hold that is written now with a certificate: since when it covers the name. It
// is empty if it does not. If the certificate before had no name, clients may use that one for a while.
func (m Material) clientHostnameSince(s state.State, u state.Usage, certificate []byte) string {
	before := m.HandedOut[u.Name]
	switch {
	case u.Name != "client" && u.Name != state.OperatorUsage, state.LacksClientName(s, certificate):
		return ""
	case before == nil && !s.Formed():
		return time.Unix(0, 0).UTC().Format(time.RFC3339) // no client has a certificate without the name
	case before != nil && !state.LacksClientName(s, before.Get(u.CertKey)) && before.Annotations[annotationClientHostnameSince] != "":
		return before.Annotations[annotationClientHostnameSince]
	}
	return s.Now.UTC().Format(time.RFC3339)
}

// checkClientsAfter is when members may check the name of clients.
func (m Material) checkClientsAfter(s state.State) time.Time {
	since := state.Later(m.HandedOut["client"].since(annotationClientHostnameSince), m.HandedOut[state.OperatorUsage].since(annotationClientHostnameSince))
	if since.IsZero() {
		return since
	}
	return since.Add(state.Validity(s).CaOverlap)
}

// Same reports whether two Secrets have the same data and are for the same name of clients.
func (s *Secret) Same(other *Secret) bool {
	return s.Annotations[annotationClientName] == other.Annotations[annotationClientName] && maps.EqualFunc(s.Data, other.Data, bytes.Equal)
}

// Operator is the Secret with which the operators connect to members: their own, or that of clients until it exists.
func (m Material) Operator() *Secret {
	if own := m.HandedOut[state.OperatorUsage]; own != nil {
		return own
	}
	return m.HandedOut["client"]
}

// bundle is all that the Secrets trust together.
func (m Material) bundle() pki.Bundle {
	var bundle pki.Bundle
	for _, u := range state.Usages {
		bundle = bundle.With(pki.ParseBundle(m.HandedOut[u.Name].Get(u.CaKey)))
	}
	return bundle
}

// wanted are the CAs that sign certificates now.
func (m Material) wanted() pki.Bundle {
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
func (m Material) inUse(checks *pki.Checks) pki.Bundle {
	bundle := m.bundle()
	var signers pki.Bundle
	for _, u := range state.Usages {
		pair := m.Pair(u)
		if leaf, err := pair.Leaf(); err == nil {
			signers = signers.With(bundle.Signers(leaf, pki.ParseBundle(pair.Cert), checks))
		}
	}
	return signers
}

func (m Material) current() (*pki.CA, error) {
	return pki.ParseCA(pki.Pair{Cert: m.CA.Get(CACertKey), Key: m.CA.Get(CAKeyKey)})
}

func (m Material) previous() *pki.CA {
	previous, err := pki.ParseCA(pki.Pair{Cert: m.CA.Get(PreviousCACertKey), Key: m.CA.Get(PreviousCAKeyKey)})
	if err != nil {
		return nil
	}
	return previous
}

// signerOf a certificate among the authorities whose key is known; nil when it is none of them.
func (m Material) signerOf(leaf *x509.Certificate) *pki.CA {
	if current, err := m.current(); err == nil && leaf.CheckSignatureFrom(current.Certificate()) == nil {
		return current
	}
	if previous := m.previous(); previous != nil && leaf.CheckSignatureFrom(previous.Certificate()) == nil {
		return previous
	}
	return nil
}

// NewSecret is the data of a usage's Secret after a step, and since when it holds its CAs and its certificate. It is nil
// if cert-manager has yet to issue the first certificate, or if another owner has the Secret.
func (m Material) NewSecret(s state.State, u state.Usage, step WriteCertificates) (*Secret, error) {
	if m.Withheld(u) {
		return nil, nil
	}
	before := m.HandedOut[u.Name]
	after := &Secret{Data: map[string][]byte{}, Annotations: map[string]string{}}
	bundle := m.bundle().With(m.wanted())
	if step.Drop {
		checks := pki.NewChecks(maxSignatures)
		if bundle = m.wanted().With(m.inUse(checks)); checks.Exceeded() {
			return nil, errors.New(strings.TrimSuffix(TooManySignatures, "."))
		}
	}
	pair, err := m.pairAfter(s, u, step)
	if err != nil {
		return nil, fmt.Errorf("issue the certificate of %ss: %w", u.Name, err)
	}
	if len(pair.Cert) == 0 {
		return nil, nil
	}
	after.Data[u.CertKey], after.Data[u.KeyKey], after.Data[u.CaKey] = pair.Cert, pair.Key, bundle.PEM()
	now := s.Now.UTC().Format(time.RFC3339)
	after.Annotations[annotationTrustSince], after.Annotations[annotationCertificateSince] = now, now
	if s.ClientName != "" {
		after.Annotations[annotationClientName] = s.ClientName
	}
	if since := m.clientHostnameSince(s, u, pair.Cert); since != "" || before != nil && before.Annotations[annotationClientHostnameSince] != "" {
		after.Annotations[annotationClientHostnameSince] = since
	}
	if before != nil && pki.ParseBundle(before.Get(u.CaKey)).Has(bundle) {
		after.Annotations[annotationTrustSince] = before.Annotations[annotationTrustSince]
	}
	if before != nil && pair.Same(m.Pair(u)) {
		after.Annotations[annotationCertificateSince] = before.Annotations[annotationCertificateSince]
	}
	return after, nil
}

var errNoAuthority = errors.New("there is no CA to sign it")

// pairAfter is a usage's certificate after a step: the present one, unless it is due or outdated.
func (m Material) pairAfter(s state.State, u state.Usage, step WriteCertificates) (pki.Pair, error) {
	held := m.Pair(u)
	if m.Issued != nil {
		due, outdated := m.judgeIssued(s, u, pki.NewChecks(maxSignatures))
		if due != "" || (outdated && step.Switch) {
			held = m.IssuedPair(u)
		}
		return held, nil
	}
	due, outdated := m.judgeManaged(s, u, m.wanted(), pki.NewChecks(maxSignatures))
	if due == "" && (!outdated || !step.Switch) {
		return held, nil
	}
	signer, err := m.current()
	if err != nil {
		return pki.Pair{}, errors.Join(errNoAuthority, err)
	}
	// All members certainly trust the CA that signed the certificate before.
	if previous := m.previous(); previous != nil && valid(s, previous) && (!valid(s, signer) || !step.Switch && m.stillPrevious()) {
		signer = previous
	}
	return signer.Issue(state.CertificateRequest(s, u), state.EarlierNow(s), state.FromEarlier(s, state.Validity(s).Duration))
}

// WithNewCA is the data of the CA's Secret with a new CA. The current one is kept as the previous one with its key, unless nobody accepts
// it yet and there is a previous one that is valid: all members trust that.
func (m Material) WithNewCA(s state.State, authority *pki.CA) map[string][]byte {
	data := map[string][]byte{
		CACertKey: authority.Cert, CAKeyKey: authority.Key,
		PreviousCACertKey: m.CA.Get(CACertKey), PreviousCAKeyKey: m.CA.Get(CAKeyKey),
	}
	current, err := m.current()
	if previous := m.previous(); previous != nil && valid(s, previous) && (err != nil || !valid(s, current)) {
		data[PreviousCACertKey], data[PreviousCAKeyKey] = previous.Cert, previous.Key
	}
	return data
}

// NewCA makes a CA. If the clocks differ, it is valid by both.
func NewCA(s state.State) (*pki.CA, error) {
	return pki.NewCA(s.Name+"."+s.Namespace+" etcd", state.EarlierNow(s), state.FromEarlier(s, state.Validity(s).CADuration))
}

// valid reports whether a CA is valid by one of the clocks: nobody accepts what it has signed before or after.
func valid(s state.State, authority *pki.CA) bool {
	cert := authority.Certificate()
	return notYetValid(cert, state.LaterNow(s)) == "" && state.EarlierNow(s).Before(cert.NotAfter)
}

// stillPrevious says whether certificates of the previous CA are in use.
func (m Material) stillPrevious() bool {
	for _, u := range state.Usages {
		if leaf, err := m.Pair(u).Leaf(); err == nil {
			if previous := m.previous(); previous != nil && leaf.CheckSignatureFrom(previous.Certificate()) == nil {
				return true
			}
		}
	}
	return false
}

func CASecret(s state.State) string { return s.Name + v1beta2.AuthoritySecretSuffix }
