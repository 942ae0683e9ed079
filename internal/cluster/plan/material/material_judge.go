package material

import (
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
	needed := wanted.With(inUse(m, checks)).With(neededByUsers(m))
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
