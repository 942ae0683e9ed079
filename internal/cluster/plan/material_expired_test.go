package plan

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

const day = 24 * time.Hour

// authority makes a CA that is valid from noon on.
func authority(t *testing.T, name string, valid time.Duration) *pki.CA {
	ca, err := pki.NewCA(name, noon, valid)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// shortened is the certificate of a CA, signed by another one, that expires earlier. What the CA has signed outlives it.
func shortened(t *testing.T, ca, by *pki.CA, end time.Time) []byte {
	block, _ := pem.Decode(by.Key)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	template := *ca.Certificate()
	template.NotAfter, template.MaxPathLenZero = end, false
	der, err := x509.CreateCertificate(rand.Reader, &template, by.Certificate(), ca.Certificate().PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// hold puts a certificate of a CA into the Secret of a usage, and the CAs that a process with that Secret trusts.
func (w *rotation) hold(u state.Usage, ca *pki.CA, valid time.Duration, chain []byte, trusted ...[]byte) {
	pair, err := ca.Issue(state.CertificateRequest(w.s, u), noon, valid)
	if err != nil {
		w.Fatal(err)
	}
	held := w.m.HandedOut[u.Name]
	held.Data = map[string][]byte{u.CertKey: slices.Concat(pair.Cert, chain), u.KeyKey: pair.Key, u.CaKey: pki.ParseBundle(trusted...).PEM()}
}

// issueBy is cert-manager with another CA, which has issued all certificates.
func (w *rotation) issueBy(ca *pki.CA, valid time.Duration) {
	w.m.Issued = map[string]*material.Secret{}
	for _, u := range state.Usages {
		pair, err := ca.Issue(state.CertificateRequest(w.s, u), noon, valid)
		if err != nil {
			w.Fatal(err)
		}
		w.m.Issued[u.Name] = &material.Secret{Data: map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: ca.Cert}}
	}
}

// managedCA is the Secret of the cluster's own CA, with the previous one if there is one.
func managedCA(current, previous *pki.CA) *material.Secret {
	data := map[string][]byte{material.CACertKey: current.Cert, material.CAKeyKey: current.Key}
	if previous != nil {
		data[material.PreviousCACertKey], data[material.PreviousCAKeyKey] = previous.Cert, previous.Key
	}
	return &material.Secret{Data: data}
}

// keepers are the ways in which the operator may hold a certificate that waits for its members. Each of them has expired after day 90.
func keepers(t *testing.T) map[string]func(*rotation, state.Usage) {
	old, next, useless := authority(t, "old", 90*day), authority(t, "next", 400*day), authority(t, "useless", 80*day)
	long := authority(t, "long", 400*day)
	root := authority(t, "root", 400*day)
	early, intermediate := shortened(t, long, long, noon.Add(90*day)), shortened(t, long, root, noon.Add(90*day))
	certManager := func(w *rotation) {
		w.s.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}}
		w.issueBy(next, 200*day)
	}
	return map[string]func(*rotation, state.Usage){
		"managed: it expires together with the previous CA": func(w *rotation, u state.Usage) {
			w.m.CA = managedCA(next, old)
			w.hold(u, old, 90*day, nil, old.Cert, next.Cert)
		},
		"managed: the key of its CA is lost": func(w *rotation, u state.Usage) {
			w.m.CA = managedCA(next, nil)
			w.hold(u, old, 90*day, nil, old.Cert)
		},
		"managed: the only CA has expired, too": func(w *rotation, u state.Usage) {
			w.m.CA = managedCA(old, nil)
			w.hold(u, old, 90*day, nil, old.Cert)
		},
		"managed: both CAs have expired": func(w *rotation, u state.Usage) {
			w.m.CA = managedCA(useless, old)
			w.hold(u, old, 90*day, nil, old.Cert, useless.Cert)
		},
		"managed: the current CA has expired, and the previous one is valid": func(w *rotation, u state.Usage) {
			w.m.CA = managedCA(old, next)
			w.hold(u, old, 90*day, nil, old.Cert, next.Cert)
		},
		"managed: a CA of another origin has expired before it": func(w *rotation, u state.Usage) {
			w.m.CA = managedCA(next, nil)
			w.hold(u, long, 200*day, nil, early)
		},
		"cert-manager: it has expired": func(w *rotation, u state.Usage) {
			certManager(w)
			w.hold(u, old, 90*day, nil, old.Cert)
		},
		"cert-manager: the CA of the issuer has expired before it": func(w *rotation, u state.Usage) {
			certManager(w)
			w.hold(u, long, 200*day, nil, early)
		},
		"cert-manager: the intermediate of the issuer has expired before it": func(w *rotation, u state.Usage) {
			certManager(w)
			w.hold(u, long, 200*day, intermediate, root.Cert)
		},
	}
}

// One certificate of a cluster has expired, and it was kept for the sake of the members that trust it. No member, client or operator with that
// certificate could open a connection. The next one waited for a quorum, so the user had to repair the Secrets by hand.
func TestNoExpiredCertificateIsKept(t *testing.T) {
	clocks := map[string]time.Duration{"the clocks agree": 0, "the API server is an hour ahead": time.Hour, "the API server is an hour behind": -time.Hour}
	others := authority(t, "others", 400*day)
	for name, prepare := range keepers(t) {
		for clock, ahead := range clocks {
			for _, u := range state.Usages {
				if ahead != 0 && u.Name != "peer" {
					continue // the clocks matter for each usage in the same way
				}
				t.Run(name+", "+u.Name+", "+clock, func(t *testing.T) {
					w := newRotation(t, 1, shortCA())
					for _, other := range state.Usages {
						w.hold(other, others, 200*day, nil, others.Cert)
					}
					prepare(w, u)
					w.s.Now, w.s.ServerAhead = noon.Add(91*day), ahead
					w.withoutQuorum()
					if invalid := w.invalid(); slices.Contains(invalid, u.Name) {
						t.Errorf("no process accepts the certificates of %v; due: %q", invalid, w.s.Certificates.Due)
					}
				})
			}
		}
	}
}

// withoutQuorum carries out what the plan does about certificates while no quorum answers. It fails if that does not end.
func (w *rotation) withoutQuorum() {
	for n := 0; ; n++ {
		w.s.Certificates = w.m.Judge(w.s, state.Certificates{Requested: true})
		w.s.MembershipKnown = false
		step := certificates.IssueCertificates(w.s)
		if step == nil {
			return
		}
		if n > 9 {
			w.Fatalf("the operator does %#v again and again", step)
		}
		w.act(step)
	}
}

// A certificate that is valid by one of two clocks may be in use. If it was replaced by one of a CA that its members do not trust, a
// healthy cluster would lose its quorum because a clock is wrong.
func TestACertificateThatIsValidByOneClockIsKeptForItsMembers(t *testing.T) {
	for name, prepare := range keepers(t) {
		for _, ahead := range []time.Duration{-2 * day, 2 * day} {
			w := newRotation(t, 1, shortCA())
			prepare(w, state.Usages[0])
			w.s.Now, w.s.ServerAhead = noon.Add(90*day-ahead/2), ahead
			before, trusted := w.m.Pair(state.Usages[0]), pki.ParseBundle(w.m.HandedOut["peer"].Get(v1beta2.PeerCAKey))
			w.withoutQuorum()
			after, err := pki.ParseCertificate(w.m.Pair(state.Usages[0]).Cert)
			if err != nil {
				t.Fatal(err)
			}
			if !before.Same(w.m.Pair(state.Usages[0])) && !trusted.Signed(after, nil) {
				t.Errorf("%s, the API server is %s ahead: the certificate is replaced by one that members do not trust", name, ahead)
			}
		}
	}
}
