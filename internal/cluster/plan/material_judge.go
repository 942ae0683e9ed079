package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Judge computes the state of the certificates. c holds already what was observed of cert-manager.
func (m Material) Judge(s State, c Certificates) Certificates {
	if s.Spec.TLS.Managed != nil {
		c.CA = m.judgeCA(s)
	}
	peer, server := m.HandedOut["peer"], m.HandedOut["server"]
	c.Trust = TrustOf(peer.Get(v1beta2.PeerCAKey), server.Get(v1beta2.ServerCAKey))
	c.Loaded = pki.Fingerprint(peer.Get(v1beta2.PeerCertKey), peer.Get(v1beta2.PeerCAKey), server.Get(v1beta2.ServerCertKey), server.Get(v1beta2.ServerCAKey))
	c.SetExpiry(m.certificates()...)
	c.Operator, c.Taken = m.HandedOut[operatorUsage] != nil, m.Taken
	if signs := c.CA.Exists && c.CA.Broken == ""; m.Issued == nil && !signs {
		c.Missing = m.lacksVital()
		return c
	}
	bundle, wanted := m.bundle(), m.wanted()
	needed := wanted.With(m.inUse())
	var trusted, shown time.Time
	for _, u := range Usages {
		held := m.HandedOut[u.Name]
		if held == nil && !u.Vital() {
			continue
		}
		c.Missing = c.Missing || held == nil
		c.Unknown = c.Unknown || !pki.ParseBundle(held.Get(u.caKey)).Has(needed)
		trusted, shown = later(trusted, held.since(annotationTrustSince)), later(shown, held.since(annotationCertificateSince))
	}
	c.Superseded = !needed.Has(bundle)
	m.judgeCertificates(s, wanted, &c)
	overlap := s.Validity().caOverlap
	c.SwitchAfter, c.DropAfter = trusted.Add(overlap), shown.Add(overlap)
	return c
}

// certificates are the texts of those in use.
func (m Material) certificates() [][]byte {
	var texts [][]byte
	for _, u := range Usages {
		texts = append(texts, m.HandedOut[u.Name].Get(u.certKey))
	}
	return texts
}

// lacksVital says whether a Secret is missing without which the cluster cannot start.
func (m Material) lacksVital() bool {
	return slices.ContainsFunc(Usages, func(u Usage) bool { return u.Vital() && m.HandedOut[u.Name] == nil })
}

func (m Material) judgeCA(s State) CertificateAuthority {
	if m.CA == nil {
		return CertificateAuthority{}
	}
	a := CertificateAuthority{Exists: true, Previous: len(m.CA.Get(PreviousCACertKey)) > 0}
	current, err := m.current()
	if err != nil {
		a.Broken = fmt.Sprintf("Secret %s (keys %s, %s) is invalid: %v. The operator cannot renew certificates. Restore the content of the Secret. If you delete the Secret, the operator creates another CA.", s.CASecret(), CACertKey, CAKeyKey, err)
		return a
	}
	end := current.Certificate().NotAfter
	switch {
	case a.Previous:
		// One replacement at a time.
	case m.Rotate != m.CA.Annotations[v1beta2.AnnotationRotateCA] && m.Rotate != "":
		a.ReplaceCause = "the annotation " + v1beta2.AnnotationRotateCA + " requests it"
	case !s.Now.Before(end.Add(-s.Validity().caRenewBefore)):
		a.ReplaceCause = "the current one expires at " + end.UTC().Format(time.RFC3339)
	}
	return a
}

// judgeCertificates says what is due, and what is outdated.
func (m Material) judgeCertificates(s State, wanted pki.Bundle, c *Certificates) {
	for _, u := range Usages {
		var due string
		var outdated bool
		if m.Issued == nil {
			due, outdated = m.judgeManaged(s, u, wanted)
		} else {
			due, outdated = m.judgeIssued(u)
		}
		c.Outdated = c.Outdated || outdated
		switch {
		case due == "" || c.Due != "" || m.Withheld(u):
		case !u.Vital() && m.HandedOut[u.Name] == nil:
			c.Due = "the operator does not have one yet"
		default:
			c.Due = "the certificate of " + u.Name + "s must be replaced: " + due
		}
	}
}

func (m Material) judgeManaged(s State, u Usage, wanted pki.Bundle) (due string, outdated bool) {
	pair := m.Pair(u)
	leaf, err := pair.Leaf()
	if err == nil {
		err = s.CertificateRequest(u).Check(pair)
	}
	if err != nil {
		return err.Error(), false
	}
	signer := m.signerOf(leaf)
	if signer == nil {
		// The key of the CA that signed it is missing: it is kept until all members trust the current CA.
		signer, err = m.current()
		if err != nil {
			return err.Error(), true
		}
	}
	return s.Validity().dueBy(leaf.NotAfter, signer.Certificate().NotAfter, s.Now), !wanted.Signed(leaf, nil)
}

// judgeIssued compares the certificate from cert-manager with the one in use. If another CA signed it, it waits until all
// members trust that CA.
func (m Material) judgeIssued(u Usage) (due string, outdated bool) {
	issued, held := m.IssuedPair(u), m.Pair(u)
	leaf, err := issued.Leaf()
	if err != nil || issued.Same(held) {
		return "", false
	}
	before, err := held.Leaf()
	if err != nil {
		return err.Error(), false
	}
	for _, authority := range pki.ParseBundle(m.HandedOut[u.Name].Get(u.caKey)) {
		one := pki.Bundle{authority}
		if one.Signed(before, pki.ParseBundle(held.Cert)) && one.Signed(leaf, pki.ParseBundle(issued.Cert)) {
			return "cert-manager issued a new one that expires at " + leaf.NotAfter.UTC().Format(time.RFC3339), false
		}
	}
	return "", true
}
