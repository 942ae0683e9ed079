package material

import (
	"cmp"
	"crypto/x509"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

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
