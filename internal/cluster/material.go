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

// judge says how the certificates stand. What observe found of cert-manager is in c already.
func (m material) judge(s State, c Certificates) Certificates {
	if s.Spec.TLS.Managed != nil {
		c.Authority = m.judgeAuthority(s)
	}
	peer, server := m.handed["peer"], m.handed["server"]
	c.Trust = trustOf(peer.get(v1beta2.PeerCAKey), server.get(v1beta2.ServerCAKey))
	c.Loaded = pki.Fingerprint(peer.get(v1beta2.PeerCertKey), peer.get(v1beta2.PeerCAKey), server.get(v1beta2.ServerCertKey), server.get(v1beta2.ServerCAKey))
	if signs := c.Authority.Exists && c.Authority.Broken == ""; m.issued == nil && !signs {
		c.Missing = len(m.handed) < len(usages)
		return c
	}
	bundle, wanted := m.bundle(), m.wanted()
	needed := wanted.With(m.inUse())
	var trusted, shown time.Time
	for _, u := range usages {
		held := m.handed[u.name]
		c.Missing = c.Missing || held == nil
		c.Unknown = c.Unknown || !pki.ParseBundle(held.get(u.caKey)).Has(needed)
		trusted, shown = later(trusted, held.since(annotationTrustSince)), later(shown, held.since(annotationCertificateSince))
	}
	c.Superseded = !needed.Has(bundle)
	m.judgeLeaves(s, wanted, &c)
	overlap := s.validity().caOverlap
	c.SwitchAfter, c.DropAfter = trusted.Add(overlap), shown.Add(overlap)
	return c
}

func (m material) judgeAuthority(s State) Authority {
	if m.authority == nil {
		return Authority{}
	}
	a := Authority{Exists: true, Previous: len(m.authority.get(previousCert)) > 0}
	current, err := m.current()
	if err != nil {
		a.Broken = fmt.Sprintf("Secret %s (keys %s, %s): %v: put the right content back, or delete it to have another authority made", s.authoritySecret(), authorityCert, authorityKey, err)
		return a
	}
	end := current.Certificate().NotAfter
	switch {
	case a.Previous:
		// One replacement at a time.
	case m.rotate != m.authority.annotations[v1beta2.AnnotationRotateCA] && m.rotate != "":
		a.Replace = "the annotation " + v1beta2.AnnotationRotateCA + " asks for it"
	case !s.Now.Before(end.Add(-s.validity().caRenewBefore)):
		a.Replace = "it is good until " + end.UTC().Format(time.RFC3339)
	}
	return a
}

// judgeLeaves says what is due, and what is outdated.
func (m material) judgeLeaves(s State, wanted pki.Bundle, c *Certificates) {
	for _, u := range usages {
		var due string
		var outdated bool
		if m.issued == nil {
			due, outdated = m.judgeManaged(s, u, wanted)
		} else {
			due, outdated = m.judgeIssued(u)
		}
		c.Outdated = c.Outdated || outdated
		if due != "" && c.Due == "" {
			c.Due = "the certificate of " + u.name + "s is to be replaced: " + due
		}
	}
}

func (m material) judgeManaged(s State, u usage, wanted pki.Bundle) (due string, outdated bool) {
	pair := m.pair(u)
	leaf, err := pair.Leaf()
	if err == nil {
		err = s.request(u).Check(pair)
	}
	if err != nil {
		return err.Error(), false
	}
	signer := m.signerOf(leaf)
	if signer == nil {
		// Whoever signed it is not known by key: it stays until all trust the authority that is.
		signer, err = m.current()
		if err != nil {
			return err.Error(), true
		}
	}
	return s.validity().dueBy(leaf.NotAfter, signer.Certificate().NotAfter, s.Now), !wanted.Signed(leaf, nil)
}

// judgeIssued compares what cert-manager issued with what was handed out. A certificate of another authority than the
// one before waits until all trust that authority.
func (m material) judgeIssued(u usage) (due string, outdated bool) {
	issued, held := m.issuedPair(u), m.pair(u)
	leaf, err := issued.Leaf()
	if err != nil || issued.Same(held) {
		return "", false
	}
	before, err := held.Leaf()
	if err != nil {
		return err.Error(), false
	}
	for _, authority := range pki.ParseBundle(m.handed[u.name].get(u.caKey)) {
		one := pki.Bundle{authority}
		if one.Signed(before, pki.ParseBundle(held.Cert)) && one.Signed(leaf, pki.ParseBundle(issued.Cert)) {
			return "cert-manager issued one that is good until " + leaf.NotAfter.UTC().Format(time.RFC3339), false
		}
	}
	return "", true
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
