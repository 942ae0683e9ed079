package cluster

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Keys of the authority's Secret, and of those that cert-manager writes.
const (
	authorityCert = "ca.crt"
	authorityKey  = "ca.key"
	previousCert  = "previous-ca.crt"
	previousKey   = "previous-ca.key"
	issuedCert    = "tls.crt"
	issuedKey     = "tls.key"
	issuedCA      = "ca.crt"
)

// Annotations of the Secrets that the operator writes.
const (
	// annotationTrustSince holds since when the Secrets hold all authorities that they do (RFC 3339).
	annotationTrustSince = v1beta2.Group + "/trust-since"
	// annotationCertificateSince holds since when they hold their certificate (RFC 3339).
	annotationCertificateSince = v1beta2.Group + "/certificate-since"
)

// secret is what a Secret holds; nil where there is none.
type secret struct {
	data        map[string][]byte
	annotations map[string]string
	version     string
}

func (s *secret) get(key string) []byte {
	if s == nil {
		return nil
	}
	return s.data[key]
}

func (s *secret) since(annotation string) time.Time {
	if s == nil {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, s.annotations[annotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// material is what the Secrets of a cluster's certificates hold. It is kept out of the State, which may be printed.
type material struct {
	// authority of the cluster's own (TLS.managed).
	authority *secret
	// handed are the Secrets that members and clients use, by the name of the usage; issued those of cert-manager.
	handed, issued map[string]*secret
	// rotate is the value of the annotation that asks for another authority.
	rotate string
}

func (m material) pair(u usage) pki.Pair {
	s := m.handed[u.name]
	return pki.Pair{Cert: s.get(u.certKey), Key: s.get(u.keyKey)}
}

func (m material) issuedPair(u usage) pki.Pair {
	s := m.issued[u.name]
	return pki.Pair{Cert: s.get(issuedCert), Key: s.get(issuedKey)}
}

// bundle is all that the Secrets trust together.
func (m material) bundle() pki.Bundle {
	var bundle pki.Bundle
	for _, u := range usages {
		bundle = bundle.With(pki.ParseBundle(m.handed[u.name].get(u.caKey)))
	}
	return bundle
}

// wanted are the authorities that sign.
func (m material) wanted() pki.Bundle {
	if m.issued == nil {
		return pki.ParseBundle(m.authority.get(authorityCert))
	}
	var bundle pki.Bundle
	for _, u := range usages {
		bundle = bundle.With(pki.ParseBundle(m.issued[u.name].get(issuedCA)))
	}
	return bundle
}

// inUse are the authorities that signed what was handed out.
func (m material) inUse() pki.Bundle {
	var signers pki.Bundle
	for _, authority := range m.bundle() {
		for _, u := range usages {
			pair := m.pair(u)
			if leaf, err := pair.Leaf(); err == nil && (pki.Bundle{authority}).Signed(leaf, pki.ParseBundle(pair.Cert)) {
				signers = signers.With(pki.Bundle{authority})
			}
		}
	}
	return signers
}

func (m material) current() (*pki.Authority, error) {
	return pki.ParseAuthority(pki.Pair{Cert: m.authority.get(authorityCert), Key: m.authority.get(authorityKey)})
}

func (m material) previous() *pki.Authority {
	previous, err := pki.ParseAuthority(pki.Pair{Cert: m.authority.get(previousCert), Key: m.authority.get(previousKey)})
	if err != nil {
		return nil
	}
	return previous
}

// signerOf a certificate among the authorities whose key is known; nil when it is none of them.
func (m material) signerOf(leaf *x509.Certificate) *pki.Authority {
	if current, err := m.current(); err == nil && leaf.CheckSignatureFrom(current.Certificate()) == nil {
		return current
	}
	if previous := m.previous(); previous != nil && leaf.CheckSignatureFrom(previous.Certificate()) == nil {
		return previous
	}
	return nil
}

// handOut is the data of a usage's Secret after a step, and since when its authorities and its certificate are so.
func (m material) handOut(s State, u usage, step HandOutCertificates) (*secret, error) {
	before := m.handed[u.name]
	after := &secret{data: map[string][]byte{}, annotations: map[string]string{}}
	bundle := m.bundle().With(m.wanted())
	if step.Drop {
		bundle = m.wanted().With(m.inUse())
	}
	pair, err := m.pairAfter(s, u, step)
	if err != nil {
		return nil, fmt.Errorf("certificate of %ss: %w", u.name, err)
	}
	after.data[u.certKey], after.data[u.keyKey], after.data[u.caKey] = pair.Cert, pair.Key, bundle.PEM()
	now := s.Now.UTC().Format(time.RFC3339)
	after.annotations[annotationTrustSince], after.annotations[annotationCertificateSince] = now, now
	if before != nil && pki.ParseBundle(before.get(u.caKey)).Has(bundle) {
		after.annotations[annotationTrustSince] = before.annotations[annotationTrustSince]
	}
	if before != nil && pair.Same(m.pair(u)) {
		after.annotations[annotationCertificateSince] = before.annotations[annotationCertificateSince]
	}
	return after, nil
}

var errNoAuthority = errors.New("there is no authority to sign it")

// pairAfter is a usage's certificate after a step: the one that is there, unless it is due or outdated.
func (m material) pairAfter(s State, u usage, step HandOutCertificates) (pki.Pair, error) {
	held := m.pair(u)
	if m.issued != nil {
		due, outdated := m.judgeIssued(u)
		if due != "" || (outdated && step.Switch) {
			held = m.issuedPair(u)
		}
		return held, nil
	}
	due, outdated := m.judgeManaged(s, u, m.wanted())
	if due == "" && (!outdated || !step.Switch) {
		return held, nil
	}
	signer, err := m.current()
	if err != nil {
		return pki.Pair{}, errors.Join(errNoAuthority, err)
	}
	// What all members trust for sure is the authority that signed the one before.
	if previous := m.previous(); previous != nil && !step.Switch && m.stillPrevious() && s.Now.Before(previous.Certificate().NotAfter) {
		signer = previous
	}
	return signer.Issue(s.request(u), s.Now, s.validity().duration)
}

// stillPrevious says whether certificates of the previous authority are in use.
func (m material) stillPrevious() bool {
	for _, u := range usages {
		if leaf, err := m.pair(u).Leaf(); err == nil {
			if previous := m.previous(); previous != nil && leaf.CheckSignatureFrom(previous.Certificate()) == nil {
				return true
			}
		}
	}
	return false
}

func (s State) authoritySecret() string { return s.Name + v1beta2.AuthoritySecretSuffix }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
