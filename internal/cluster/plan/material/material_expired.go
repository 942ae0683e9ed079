package material

import (
	"crypto/x509"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// A certificate is kept until all members trust the CA of the next one, or if a renewal would not prolong it. Once it has expired, no process accepts
// it any more. Then the wait protects nothing, and it would not end: without valid certificates no quorum answers. So an expired certificate
// is replaced at once. The same holds for one that is not valid yet, because it was issued while a clock was ahead.

// expired reports whether a certificate has expired by both clocks, so that no member and no client accepts it.
func expired(s state.State, cert *x509.Certificate) bool {
	return !state.EarlierNow(s).Before(cert.NotAfter)
}

// unexpired are the CAs and intermediates that some process may accept.
func unexpired(s state.State, bundle pki.Bundle) pki.Bundle {
	return slices.DeleteFunc(slices.Clone(bundle), func(cert *x509.Certificate) bool { return expired(s, cert) })
}

// usable are the CAs and intermediates that have not expired and are valid by now, by one of the clocks.
func usable(s state.State, bundle pki.Bundle) pki.Bundle {
	return slices.DeleteFunc(unexpired(s, bundle), func(cert *x509.Certificate) bool { return notYetValid(cert, state.LaterNow(s)) != "" })
}

// expiry says why no process with these CAs accepts a pair now: its certificate has expired or is not valid yet, or each CA that signed it. It is empty if
// one may accept it, or if the pair cannot be read.
func expiry(s state.State, pair pki.Pair, trusted []byte, checks *pki.Checks) string {
	leaf, err := pair.Leaf()
	if err != nil {
		return ""
	}
	if expired(s, leaf) {
		return "it expired at " + leaf.NotAfter.UTC().Format(time.RFC3339)
	}
	if early := notYetValid(leaf, state.LaterNow(s)); early != "" {
		return early
	}
	bundle, chain := pki.ParseBundle(trusted), pki.ParseBundle(pair.Cert)
	validBundle, validChain := usable(s, bundle), usable(s, chain)
	if len(validBundle) == len(bundle) && len(validChain) == len(chain) {
		return ""
	}
	if len(bundle.Signers(leaf, chain, checks)) > 0 && len(validBundle.Signers(leaf, validChain, checks)) == 0 {
		return "the CA that signed it has expired, or is not valid yet"
	}
	return ""
}

// heldExpiry is the expiry of the certificate in use.
func heldExpiry(m Material, s state.State, u state.Usage, checks *pki.Checks) string {
	return expiry(s, m.Pair(u), m.HandedOut[u.Name].Get(u.CaKey), checks)
}

// issuedExpiry is the expiry of the certificate that cert-manager has issued. To hand out an expired one would change nothing.
func issuedExpiry(m Material, s state.State, u state.Usage, checks *pki.Checks) string {
	return expiry(s, m.IssuedPair(u), m.Issued[u.Name].Get(IssuedCAKey), checks)
}

// notYetValid says from when on a certificate is valid. It is empty if it is valid by now: etcd and clients accept none before.
func notYetValid(cert *x509.Certificate, now time.Time) string {
	if !cert.NotBefore.After(now) {
		return ""
	}
	return "it is not valid before " + cert.NotBefore.UTC().Format(time.RFC3339)
}

// Valid reports whether a CA is valid by one of the clocks: nobody accepts what it has signed before or after.
func Valid(s state.State, authority *pki.CA) bool {
	cert := authority.Certificate()
	return notYetValid(cert, state.LaterNow(s)) == "" && state.EarlierNow(s).Before(cert.NotAfter)
}

// signsNow reports whether the current CA is valid.
func signsNow(m Material, s state.State) bool {
	current, err := Current(m)
	return err == nil && Valid(s, current)
}

// signs reports whether a CA with a key is valid, so that a new certificate is of use.
func signs(m Material, s state.State) bool {
	current, err := Current(m)
	if err == nil && Valid(s, current) {
		return true
	}
	previous := previous(m)
	return err == nil && previous != nil && Valid(s, previous)
}
