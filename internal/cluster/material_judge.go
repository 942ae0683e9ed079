package cluster

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

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
