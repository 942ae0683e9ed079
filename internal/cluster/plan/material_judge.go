package plan

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Judge computes the state of the certificates. c holds already what was observed of cert-manager.
func (m Material) Judge(s state.State, c state.Certificates) state.Certificates {
	if s.Spec.TLS.Managed != nil {
		c.CA = m.judgeCA(s)
	}
	peer, server := m.HandedOut["peer"], m.HandedOut["server"]
	c.Trust = state.TrustOf(peer.Get(v1beta2.PeerCAKey), server.Get(v1beta2.ServerCAKey))
	c.Loaded = pki.Fingerprint(peer.Get(v1beta2.PeerCertKey), peer.Get(v1beta2.PeerCAKey), server.Get(v1beta2.ServerCertKey), server.Get(v1beta2.ServerCAKey))
	c.PeerLacksName = state.LacksPeerName(s, peer.Get(v1beta2.PeerCertKey))
	c.ClientsLackName, c.CheckClientsAfter = m.lacksClientName(s), m.checkClientsAfter(s)
	c.SetExpiry(m.certificates()...)
	c.Operator, c.Taken = m.HandedOut[state.OperatorUsage] != nil, m.Taken
	if signs := c.CA.Exists && c.CA.Broken == ""; m.Issued == nil && !signs {
		c.Missing = m.lacksVital()
		c.Lacking = c.Missing
		return c
	}
	bundle, wanted := m.bundle(), m.wanted()
	checks := pki.NewChecks(maxSignatures)
	needed := wanted.With(m.inUse(checks))
	var trusted, shown time.Time
	for _, u := range state.Usages {
		held := m.HandedOut[u.Name]
		if held == nil && !u.Vital() {
			continue
		}
		c.Missing = c.Missing || held == nil
		c.Unknown = c.Unknown || !pki.ParseBundle(held.Get(u.CaKey)).Has(needed)
		trusted, shown = state.Later(trusted, held.since(annotationTrustSince)), state.Later(shown, held.since(annotationCertificateSince))
	}
	c.Superseded = !needed.Has(bundle)
	c.Refusing, c.RefusingExpired = m.refusing(s, bundle, checks)
	c.Wanted = wanted.Fingerprint()
	m.judgeCertificates(s, wanted, checks, &c)
	c.Unjudged = checks.Exceeded()
	c.Urgent = m.urgent(s)
	overlap := state.Validity(s).CaOverlap
	c.SwitchAfter, c.DropAfter = trusted.Add(overlap), shown.Add(overlap)
	return c
}

// certificates are the texts of those in use.
func (m Material) certificates() [][]byte {
	var texts [][]byte
	for _, u := range state.Usages {
		texts = append(texts, m.HandedOut[u.Name].Get(u.CertKey))
	}
	return texts
}

// lacksVital says whether a Secret is missing without which the cluster cannot start.
func (m Material) lacksVital() bool {
	return slices.ContainsFunc(state.Usages, func(u state.Usage) bool { return u.Vital() && m.HandedOut[u.Name] == nil })
}

func (m Material) judgeCA(s state.State) state.CertificateAuthority {
	if m.CA == nil {
		return state.CertificateAuthority{}
	}
	a := state.CertificateAuthority{Exists: true, Previous: len(m.CA.Get(PreviousCACertKey)) > 0}
	current, err := m.current()
	if err != nil {
		a.Broken = fmt.Sprintf("Secret %s (keys %s, %s) is invalid: %v. The operator cannot renew certificates. Restore the content of the Secret. If you delete the Secret, the operator creates another CA.", CASecret(s), CACertKey, CAKeyKey, err)
		return a
	}
	end := current.Certificate().NotAfter
	a.Invalid = !m.signs(s)
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
func (m Material) judgeCertificates(s state.State, wanted pki.Bundle, checks *pki.Checks, c *state.Certificates) {
	for _, u := range state.Usages {
		var due string
		var outdated bool
		if m.Issued == nil {
			due, outdated = m.judgeManaged(s, u, wanted, checks)
		} else {
			due, outdated = m.judgeIssued(s, u, checks)
			c.ReportEarly(m.earlyIssued(s, u))
			c.Report(m.unnamedIssued(s, u), v1beta2.ReasonCertificateLacksName)
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
func (m Material) urgent(s state.State) bool {
	if !state.ClocksDiffer(s) {
		return false
	}
	if current, err := m.current(); err == nil && renewsLate(s, current.Certificate(), state.Validity(s).CaRenewBefore) {
		return true
	}
	return slices.ContainsFunc(state.Usages, func(u state.Usage) bool {
		leaf, err := m.Pair(u).Leaf()
		return err == nil && (renewsLate(s, leaf, state.Validity(s).RenewBefore) || m.heldExpiry(s, u, pki.NewChecks(maxSignatures)) != "")
	})
}

// renewsLate reports whether a certificate is not valid, or will soon not be, by the clock of the API server.
func renewsLate(s state.State, cert *x509.Certificate, before time.Duration) bool {
	return notYetValid(cert, state.ServerNow(s)) != "" || !state.ServerNow(s).Before(cert.NotAfter.Add(-before/2))
}

func (m Material) judgeManaged(s state.State, u state.Usage, wanted pki.Bundle, checks *pki.Checks) (due string, outdated bool) {
	pair := m.Pair(u)
	leaf, err := pair.Leaf()
	if err == nil {
		err = state.CertificateRequest(s, u).Check(pair)
	}
	if err != nil {
		return err.Error(), false
	}
	if expiry := m.heldExpiry(s, u, checks); expiry != "" && m.signs(s) {
		return expiry, false
	}
	signer := m.signerOf(leaf)
	if signer == nil {
		return m.judgeUnsigned(s, leaf)
	}
	if early := cmp.Or(notYetValid(leaf, state.ServerNow(s)), notYetValid(signer.Certificate(), state.LaterNow(s))); early != "" {
		return "it was issued while a clock was ahead: " + early, false
	}
	return state.Validity(s).DueBy(leaf.NotAfter, signer.Certificate().NotAfter, state.ServerNow(s)), !wanted.Signed(leaf, nil)
}

// notYetValid says from when on a certificate is valid. It is empty if it is valid by now: etcd and clients accept none before.
func notYetValid(cert *x509.Certificate, now time.Time) string {
	if !cert.NotBefore.After(now) {
		return ""
	}
	return "it is not valid before " + cert.NotBefore.UTC().Format(time.RFC3339)
}

// judgeIssued compares the certificate from cert-manager with the one in use. If another CA signed it, it waits until all
// members trust that CA, unless the one in use has expired. One that is not valid yet is not handed out.
func (m Material) judgeIssued(s state.State, u state.Usage, checks *pki.Checks) (due string, outdated bool) {
	issued, held := m.IssuedPair(u), m.Pair(u)
	leaf, err := issued.Leaf()
	if err != nil || issued.Same(held) || notYetValid(leaf, state.ServerNow(s)) != "" {
		return "", false
	}
	before, err := held.Leaf()
	if err != nil {
		return err.Error(), false
	}
	if m.unnamedIssued(s, u) != "" {
		return "", false
	}
	if expiry := m.heldExpiry(s, u, checks); expiry != "" && m.issuedExpiry(s, u, checks) == "" {
		return expiry, false
	}
	trusted := pki.ParseBundle(m.HandedOut[u.Name].Get(u.CaKey)).Signers(before, pki.ParseBundle(held.Cert), checks)
	if len(trusted.Signers(leaf, pki.ParseBundle(issued.Cert), checks)) > 0 {
		return "cert-manager issued a new one that expires at " + leaf.NotAfter.UTC().Format(time.RFC3339), false
	}
	return "", true
}

// earlyIssued is the message about a certificate from cert-manager that is not valid yet, and empty if there is none. The operator cannot
// issue another one.
func (m Material) earlyIssued(s state.State, u state.Usage) string {
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
func (m Material) unnamedIssued(s state.State, u state.Usage) string {
	issued := m.IssuedPair(u).Cert
	if u.Name != "client" && u.Name != state.OperatorUsage || !state.MembersCheckClients(s) || !state.LacksClientName(s, issued) || state.LacksClientName(s, m.Pair(u).Cert) {
		return ""
	}
	return "cert-manager issued Certificate " + s.Name + u.Certificate + " without the DNS name " + state.ClientHostname(s) + ", which members check. " +
		"The operator does not hand it out, and the one in use expires. Correct the issuer or the approver policy, so that the name is allowed. Then renew the certificate: cmctl renew " + s.Name + u.Certificate
}
