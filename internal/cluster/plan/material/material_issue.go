package material

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// NewSecret is the data of a usage's Secret after a step, and since when it holds its CAs and its certificate. It is nil
// if cert-manager has yet to issue the first certificate, or if another owner has the Secret.
func (m Material) NewSecret(s state.State, u state.Usage, step steps.WriteCertificates) (*Secret, error) {
	if m.Withheld(u) {
		return nil, nil
	}
	before := m.HandedOut[u.Name]
	after := &Secret{Data: map[string][]byte{}, Annotations: map[string]string{}}
	bundle := Bundle(m).With(Wanted(m)).With(neededByUsers(m))
	if before := previous(m); before != nil && m.Issued == nil && Valid(s, before) && !signsNow(m, s) {
		bundle = bundle.With(pki.Bundle{before.Certificate()}) // it signs, because the current one is not valid
	}
	if step.Drop {
		checks := pki.NewChecks(maxSignatures)
		if bundle = Wanted(m).With(inUse(m, checks)).With(neededByUsers(m)); checks.Exceeded() {
			return nil, errors.New(strings.TrimSuffix(TooManySignatures, "."))
		}
	}
	pair, err := pairAfter(m, s, u, step)
	if err != nil {
		return nil, fmt.Errorf("issue the certificate of %ss: %w", u.Name, err)
	}
	if len(pair.Cert) == 0 {
		return nil, nil
	}
	after.Data[u.CertKey], after.Data[u.KeyKey], after.Data[u.CaKey] = pair.Cert, pair.Key, signersFirst(bundle, pair).PEM()
	now := s.Now.UTC().Format(time.RFC3339)
	after.Annotations[annotationTrustSince], after.Annotations[annotationCertificateSince] = now, now
	if s.ClientName != "" {
		after.Annotations[AnnotationClientName] = s.ClientName
	}
	if since := ClientHostnameSince(m, s, u, pair.Cert); since != "" || before != nil && before.Annotations[AnnotationClientHostnameSince] != "" {
		after.Annotations[AnnotationClientHostnameSince] = since
	}
	if before != nil && pki.ParseBundle(before.Get(u.CaKey)).Has(bundle) {
		after.Annotations[annotationTrustSince] = before.Annotations[annotationTrustSince]
	}
	if before != nil && pair.Same(m.Pair(u)) {
		after.Annotations[annotationCertificateSince] = before.Annotations[annotationCertificateSince]
	}
	return after, nil
}

// signersFirst puts the CAs that signed a certificate before the others. Kamaji signs the certificates of its tenants with the first CA of what they trust.
func signersFirst(bundle pki.Bundle, pair pki.Pair) pki.Bundle {
	leaf, err := pair.Leaf()
	if err != nil {
		return bundle
	}
	return bundle.Signers(leaf, pki.ParseBundle(pair.Cert), pki.NewChecks(maxSignatures)).With(bundle)
}

// pairAfter is a usage's certificate after a step: the present one, unless it is due or outdated.
func pairAfter(m Material, s state.State, u state.Usage, step steps.WriteCertificates) (pki.Pair, error) {
	held := m.Pair(u)
	if m.Issued != nil {
		due, outdated := judgeIssued(m, s, u, pki.NewChecks(maxSignatures))
		if due != "" || (outdated && step.Switch) {
			held = m.IssuedPair(u)
		}
		return held, nil
	}
	due, outdated := judgeManaged(m, s, u, Wanted(m), pki.NewChecks(maxSignatures))
	if due == "" && (!outdated || !step.Switch) {
		return held, nil
	}
	signer, err := Current(m)
	if err != nil {
		return pki.Pair{}, errors.Join(errNoAuthority, err)
	}
	// All members certainly trust the CA that signed the certificate before.
	if previous := previous(m); previous != nil && Valid(s, previous) && (!Valid(s, signer) || !step.Switch && stillPrevious(m)) {
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
	if held := m.CA.Get(IssuedCertKey); len(held) > 0 { // it signs clients until all members trust the new one
		data[IssuedCertKey], data[IssuedKeyKey] = held, m.CA.Get(IssuedKeyKey)
	}
	current, err := Current(m)
	if previous := previous(m); previous != nil && Valid(s, previous) && (err != nil || !Valid(s, current)) {
		data[PreviousCACertKey], data[PreviousCAKeyKey] = previous.Cert, previous.Key
	}
	return data
}
