package material

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Judge computes the state of the certificates. c holds already what was observed of cert-manager.
func (m Material) Judge(s state.State, c state.Certificates) state.Certificates {
	if s.Spec.TLS.Managed != nil {
		c.CA = judgeCA(m, s)
	}
	peer, server := m.HandedOut["peer"], m.HandedOut["server"]
	c.Trust = state.TrustOf(peer.Get(v1beta2.PeerCAKey), server.Get(v1beta2.ServerCAKey))
	c.Loaded = pki.Fingerprint(peer.Get(v1beta2.PeerCertKey), peer.Get(v1beta2.PeerCAKey), server.Get(v1beta2.ServerCertKey), server.Get(v1beta2.ServerCAKey))
	c.PeerLacksName = state.LacksPeerName(s, peer.Get(v1beta2.PeerCertKey))
	c.ClientsLackName, c.CheckClientsAfter = lacksClientName(m, s), checkClientsAfter(m, s)
	c.SetExpiry(certificates(m, s)...)
	c.Operator, c.Taken = m.own(s) != nil, m.Taken
	if signs := c.CA.Exists && c.CA.Broken == ""; m.Issued == nil && !signs {
		c.Missing = lacksVital(m)
		c.Lacking = c.Missing
		return c
	}
	bundle, wanted := Bundle(m), Wanted(m)
	checks := pki.NewChecks(maxSignatures)
	needed := wanted.With(inUse(m, checks)).With(m.neededByUsers())
	trusted, shown := time.Time{}, m.CA.since(annotationCertificateSince)
	for _, u := range state.Usages {
		held := m.HandedOut[u.Name]
		if held == nil && !u.Vital() {
			continue
		}
		c.Missing = c.Missing || held == nil
		c.Unknown = c.Unknown || !pki.ParseBundle(held.Get(u.CaKey)).Has(needed)
		trusted, shown = state.Later(trusted, held.since(annotationTrustSince)), state.Later(shown, held.since(annotationCertificateSince))
	}
	for _, held := range m.Users {
		shown = state.Later(shown, held.since(annotationCertificateSince))
	}
	c.Superseded = !needed.Has(bundle)
	c.Refusing, c.RefusingExpired = refusing(m, s, bundle, checks)
	c.Wanted = wanted.Fingerprint()
	judgeCertificates(m, s, wanted, checks, &c)
	c.Unjudged = checks.Exceeded()
	c.Urgent = urgent(m, s)
	overlap := state.Validity(s).CaOverlap
	c.SwitchAfter, c.DropAfter = trusted.Add(overlap), shown.Add(overlap)
	return c
}

// certificates are the texts of those in use. If the operators use that of clients, their own one may have expired.
func certificates(m Material, s state.State) [][]byte {
	var texts [][]byte
	for _, u := range state.Usages {
		if !u.Vital() && m.own(s) == nil {
			continue
		}
		texts = append(texts, m.HandedOut[u.Name].Get(u.CertKey))
	}
	return texts
}

// lacksVital says whether a Secret is missing without which the cluster cannot start.
func lacksVital(m Material) bool {
	return slices.ContainsFunc(state.Usages, func(u state.Usage) bool { return u.Vital() && m.HandedOut[u.Name] == nil })
}

func judgeCA(m Material, s state.State) state.CertificateAuthority {
	if m.CA == nil {
		return state.CertificateAuthority{}
	}
	a := state.CertificateAuthority{Exists: true, Previous: len(m.CA.Get(PreviousCACertKey)) > 0}
	current, err := Current(m)
	if err != nil {
		a.Broken = fmt.Sprintf("Secret %s (keys %s, %s) is invalid: %v. The operator cannot renew certificates. Restore the content of the Secret. If you delete the Secret, the operator creates another CA.", CASecret(s), CACertKey, CAKeyKey, err)
		return a
	}
	end := current.Certificate().NotAfter
	a.Invalid, a.Incomplete = !signs(m, s), m.incomplete()
	switch early := notYetValid(current.Certificate(), state.LaterNow(s)); {
	case early != "":
		a.ReplaceCause = "the current one was created while a clock was ahead: " + early
	case expired(s, current.Certificate()):
		a.ReplaceCause = "the current one expired at " + end.UTC().Format(time.RFC3339)
	case a.Previous:
		// One replacement at a time, because members trust what the previous one has signed. An expired CA signs nothing, so it does not wait.
	case m.Rotate != m.CA.Annotations[v1beta2.AnnotationRotateCA] && m.Rotate != "":
		a.ReplaceCause = "the annotation " + v1beta2.AnnotationRotateCA + " requests it"
	case !state.ServerNow(s).Before(end.Add(-state.Validity(s).CaRenewBefore)):
		a.ReplaceCause = "the current one expires at " + end.UTC().Format(time.RFC3339)
	}
	return a
}

// judgeCertificates says what is due, and what is outdated.
func judgeCertificates(m Material, s state.State, wanted pki.Bundle, checks *pki.Checks, c *state.Certificates) {
	for _, u := range state.Usages {
		var due string
		var outdated bool
		if m.Issued == nil {
			due, outdated = judgeManaged(m, s, u, wanted, checks)
		} else {
			due, outdated = judgeIssued(m, s, u, checks)
			c.ReportEarly(earlyIssued(m, s, u))
			c.Report(unnamedIssued(m, s, u), v1beta2.ReasonCertificateLacksName)
			c.Report(lesserIssued(m, s, u), v1beta2.ReasonCertificateNotReady)
		}
		c.Outdated = c.Outdated || outdated
		c.Lacking = c.Lacking || due == "" && u.Vital() && m.HandedOut[u.Name] == nil
		switch {
		case due == "" || c.Due != "" || m.Withheld(u):
		case !u.Vital() && m.HandedOut[u.Name] == nil:
			c.Due = "the operator does not have one yet"
		default:
			c.Due = "the certificate of " + u.Name + "s must be replaced: " + due
		}
	}
}

// urgent reports whether the clocks differ and certificates cannot wait until they agree: by the clock of the API server, half of the time
// for the renewal is over.
func urgent(m Material, s state.State) bool {
	if !state.ClocksDiffer(s) {
		return false
	}
	if current, err := Current(m); err == nil && renewsLate(s, current.Certificate(), state.Validity(s).CaRenewBefore) {
		return true
	}
	return slices.ContainsFunc(state.Usages, func(u state.Usage) bool {
		leaf, err := m.Pair(u).Leaf()
		return err == nil && (renewsLate(s, leaf, state.Validity(s).RenewBefore) || heldExpiry(m, s, u, pki.NewChecks(maxSignatures)) != "")
	})
}

// renewsLate reports whether a certificate is not valid, or will soon not be, by the clock of the API server.
func renewsLate(s state.State, cert *x509.Certificate, before time.Duration) bool {
	return notYetValid(cert, state.ServerNow(s)) != "" || !state.ServerNow(s).Before(cert.NotAfter.Add(-before/2))
}

func judgeManaged(m Material, s state.State, u state.Usage, wanted pki.Bundle, checks *pki.Checks) (due string, outdated bool) {
	pair := m.Pair(u)
	leaf, err := pair.Leaf()
	if err == nil {
		err = state.CertificateRequest(s, u).Check(pair)
	}
	if err != nil {
		return err.Error(), false
	}
	if expiry := heldExpiry(m, s, u, checks); expiry != "" && signs(m, s) {
		return expiry, false
	}
	signer := signerOf(m, leaf)
	if signer == nil {
		return judgeUnsigned(m, s, leaf)
	}
	if early := cmp.Or(notYetValid(leaf, state.ServerNow(s)), notYetValid(signer.Certificate(), state.LaterNow(s))); early != "" {
		return "it was issued while a clock was ahead: " + early, false
	}
	return state.Validity(s).DueBy(leaf.NotAfter, signer.Certificate().NotAfter, state.ServerNow(s)), !wanted.Signed(leaf, nil)
}

// judgeIssued compares the certificate from cert-manager with the one in use. If another CA signed it, it waits until all
// members trust that CA, unless no process accepts the one in use now. One that is not valid yet, has expired or covers less is not handed out.
func judgeIssued(m Material, s state.State, u state.Usage, checks *pki.Checks) (due string, outdated bool) {
	issued, held := m.IssuedPair(u), m.Pair(u)
	leaf, err := issued.Leaf()
	if err != nil || issued.Same(held) || notYetValid(leaf, state.ServerNow(s)) != "" {
		return "", false
	}
	before, err := held.Leaf()
	if err != nil {
		return err.Error(), false
	}
	if unnamedIssued(m, s, u) != "" {
		return "", false
	}
	if expiry := heldExpiry(m, s, u, checks); expiry != "" && issuedExpiry(m, s, u, checks) == "" {
		return expiry, false
	}
	if lostByIssued(m, s, u) != "" || issuedExpiry(m, s, u, checks) != "" {
		return "", false
	}
	trusted := pki.ParseBundle(m.HandedOut[u.Name].Get(u.CaKey)).Signers(before, pki.ParseBundle(held.Cert), checks)
	if len(trusted.Signers(leaf, pki.ParseBundle(issued.Cert), checks)) > 0 {
		return "cert-manager issued a new one that expires at " + leaf.NotAfter.UTC().Format(time.RFC3339), false
	}
	return "", true
}

// earlyIssued is the message about a certificate from cert-manager that is not valid yet, and empty if there is none. The operator cannot
// issue another one.
func earlyIssued(m Material, s state.State, u state.Usage) string {
	leaf, err := m.IssuedPair(u).Leaf()
	if err != nil {
		return ""
	}
	early := notYetValid(leaf, state.ServerNow(s))
	if early == "" {
		return ""
	}
	name := s.Name + u.Certificate
	what := "cert-manager issued Certificate " + name + " while a clock was ahead: " + early + ". "
	if m.IssuedPair(u).Same(m.Pair(u)) {
		what += "The members have it already, and no member or client accepts it until then. "
	} else {
		what += "The operator does not hand it out. "
	}
	return what + "Correct the clock of cert-manager's node. Then renew the certificate: cmctl renew " + name
}

// unnamedIssued is the message about a certificate of clients from cert-manager that lacks the name which members check, and empty if there
// is none. With it, all members would refuse the operator and all clients.
func unnamedIssued(m Material, s state.State, u state.Usage) string {
	issued := m.IssuedPair(u).Cert
	if u.Name != "client" && u.Name != state.OperatorUsage || !state.MembersCheckClients(s) || !state.LacksClientName(s, issued) || state.LacksClientName(s, m.Pair(u).Cert) {
		return ""
	}
	return "cert-manager issued Certificate " + s.Name + u.Certificate + " without the DNS name " + state.ClientHostname(s) + ", which members check. " +
		"The operator does not hand it out, and the one in use expires. Correct the issuer or the approver policy, so that the name is allowed. Then renew the certificate: cmctl renew " + s.Name + u.Certificate
}

// NewSecret is the data of a usage's Secret after a step, and since when it holds its CAs and its certificate. It is nil
// if cert-manager has yet to issue the first certificate, or if another owner has the Secret.
func (m Material) NewSecret(s state.State, u state.Usage, step steps.WriteCertificates) (*Secret, error) {
	if m.Withheld(u) {
		return nil, nil
	}
	before := m.HandedOut[u.Name]
	after := &Secret{Data: map[string][]byte{}, Annotations: map[string]string{}}
	bundle := Bundle(m).With(Wanted(m)).With(m.neededByUsers())
	if before := previous(m); before != nil && m.Issued == nil && Valid(s, before) && !signsNow(m, s) {
		bundle = bundle.With(pki.Bundle{before.Certificate()}) // it signs, because the current one is not valid
	}
	if step.Drop {
		checks := pki.NewChecks(maxSignatures)
		if bundle = Wanted(m).With(inUse(m, checks)).With(m.neededByUsers()); checks.Exceeded() {
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
	after.Data[u.CertKey], after.Data[u.KeyKey], after.Data[u.CaKey] = pair.Cert, pair.Key, bundle.PEM()
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

// judgeUnsigned judges a certificate that has not expired, and whose CA has no key any more. It is kept until all members trust the current CA: that one
// would sign a renewal.
func judgeUnsigned(m Material, s state.State, leaf *x509.Certificate) (due string, outdated bool) {
	if _, err := Current(m); err != nil {
		return err.Error(), true
	}
	if early := notYetValid(leaf, state.ServerNow(s)); early != "" {
		return "it was issued while a clock was ahead: " + early, false
	}
	return "", true
}
