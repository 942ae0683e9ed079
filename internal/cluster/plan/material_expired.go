package plan

import (
	"crypto/x509"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// A certificate is kept until all members trust the CA of the next one, or if a renewal would not prolong it. Once it has expired, no process accepts
// it any more. Then the wait protects nothing, and it would not end: without valid certificates no quorum answers. So an expired certificate
// is replaced at once.

// expired reports whether a certificate has expired by both clocks, so that no member and no client accepts it.
func (s State) expired(cert *x509.Certificate) bool { return !s.earlierNow().Before(cert.NotAfter) }

// unexpired are the CAs and intermediates that some process may accept.
func (s State) unexpired(bundle pki.Bundle) pki.Bundle {
	return slices.DeleteFunc(slices.Clone(bundle), s.expired)
}

// expiry says why a process with these CAs accepts a pair no more: its certificate has expired, or each CA that signed it. It is empty if one may accept
// it, or if the pair cannot be read.
func (s State) expiry(pair pki.Pair, trusted []byte, checks *pki.Checks) string {
	leaf, err := pair.Leaf()
	if err != nil {
		return ""
	}
	if s.expired(leaf) {
		return "it expired at " + leaf.NotAfter.UTC().Format(time.RFC3339)
	}
	bundle, chain := pki.ParseBundle(trusted), pki.ParseBundle(pair.Cert)
	validBundle, validChain := s.unexpired(bundle), s.unexpired(chain)
	if len(validBundle) == len(bundle) && len(validChain) == len(chain) {
		return ""
	}
	if len(bundle.Signers(leaf, chain, checks)) > 0 && len(validBundle.Signers(leaf, validChain, checks)) == 0 {
		return "the CA that signed it has expired"
	}
	return ""
}

// heldExpiry is the expiry of the certificate in use.
func (m Material) heldExpiry(s State, u Usage, checks *pki.Checks) string {
	return s.expiry(m.Pair(u), m.HandedOut[u.Name].Get(u.caKey), checks)
}

// issuedExpiry is the expiry of the certificate that cert-manager has issued. To hand out an expired one would change nothing.
func (m Material) issuedExpiry(s State, u Usage, checks *pki.Checks) string {
	return s.expiry(m.IssuedPair(u), m.Issued[u.Name].Get(IssuedCAKey), checks)
}

// whyExpired says that a certificate in use has expired, and why no other one replaces it, as sentences that follow others. It is empty if none has.
func (s State) whyExpired() string {
	c := s.Certificates
	if c.Expires.IsZero() || s.earlierNow().Before(c.Expires) {
		return ""
	}
	said := " A certificate in the TLS Secrets expired at " + c.Expires.UTC().Format(time.RFC3339) + ", so members and clients refuse each other."
	if !s.Spec.TLS.Issued() {
		return said + " Put valid certificates into the Secrets."
	}
	for _, why := range []string{c.CA.Broken, c.Unissued, c.IssuerRefused} {
		if why != "" {
			said += " " + why
		}
	}
	return said
}

// signs reports whether a CA with a key is valid, so that a new certificate is of use.
func (m Material) signs(s State) bool {
	current, err := m.current()
	if err == nil && s.valid(current) {
		return true
	}
	previous := m.previous()
	return err == nil && previous != nil && s.valid(previous)
}

// judgeUnsigned judges a certificate that has not expired, and whose CA has no key any more. It is kept until all members trust the current CA: that one
// would sign a renewal.
func (m Material) judgeUnsigned(s State, leaf *x509.Certificate) (due string, outdated bool) {
	if _, err := m.current(); err != nil {
		return err.Error(), true
	}
	if early := notYetValid(leaf, s.serverNow()); early != "" {
		return "it was issued while a clock was ahead: " + early, false
	}
	return "", true
}
