// Package cas has the certificate authorities of a simulated cluster with TLS, and who accepts whose certificate.
package cas

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
)

// Set is a set of CAs. CA n is bit n, and 0 is no CA.
type Set uint64

// maxCAs is how many CAs one world has at most.
const maxCAs = 60

// SetOf returns the set of one CA, which is empty for 0.
func SetOf(ca int) Set {
	if ca == 0 {
		return 0
	}
	return 1 << ca
}

// Has reports whether a CA is in the set.
func (s Set) Has(ca int) bool { return ca != 0 && s&SetOf(ca) != 0 }

// Print returns the set as text, as the fingerprint of a real set of CAs.
func (s Set) Print() string { return strconv.FormatUint(uint64(s), 16) }

// Keys are what a Secret holds: the CAs that its reader trusts, and the CA that signed its certificate.
type Keys struct {
	Trusted Set
	Signer  int
}

// Secrets hold the keys of peers, and those of clients and servers. The operator writes the same CAs into both.
type Secrets struct{ Peer, Client Keys }

// Trust is the fingerprint of the CAs, as state.TrustOf makes it.
func (h Secrets) Trust() string {
	if h.Peer.Trusted == h.Client.Trusted {
		return h.Peer.Trusted.Print()
	}
	return h.Peer.Trusted.Print() + "-" + h.Client.Trusted.Print()
}

// Loaded is what an annotation of a Pod records of the Secrets that etcd has loaded.
func (h Secrets) Loaded() string { return fmt.Sprint(h) }

// Link is a connection between two etcd processes, the lower number first. It lasts until one of them ends, whatever happens to their certificates.
type Link [2]int

// LinkOf returns the connection between two processes.
func LinkOf(a, b int) Link { return Link{min(a, b), max(a, b)} }

// Authorities are the CAs and the Secrets of a cluster with TLS, and what depends on them.
type Authorities struct {
	// Held is what the Secrets of members and clients hold. Missing: somebody has deleted them.
	Held    Secrets
	Missing bool
	// Signs is the CA of TLS.managed, and Before the one that it replaces. Asked: an annotation requests the next one. Last numbers CAs.
	Signs, Before int
	Asked         bool
	Last          int
	// Expired CAs sign nothing that a process accepts. Connections that exist are kept.
	Expired Set
	// TrustSince is since when the Secrets hold their CAs, and ShownSince since when their certificates.
	TrustSince, ShownSince int
	// Links are the connections between etcd processes. Processes numbers these.
	Links     []Link
	Processes int
	// Slow: no member answers in time in this pass.
	Slow bool
	// Silence is what the operator remembers of members that do not serve.
	Silence repair.Silence
}

// Clone returns CAs that a change of these does not change.
func (t *Authorities) Clone() *Authorities {
	if t == nil {
		return nil
	}
	c := *t
	c.Links = slices.Clone(t.Links)
	return &c
}

// NewCA returns the number of a new CA. A world that has had too many has the last one again.
func (t *Authorities) NewCA() int {
	t.Last = min(t.Last+1, maxCAs)
	return t.Last
}

// Valid reports whether a CA exists and has not expired.
func (t *Authorities) Valid(ca int) bool { return ca != 0 && !t.Expired.Has(ca) }

// Refusing are the sets of CAs that follow each other in the Secrets, and that did not sign the certificate of the operator.
func (t *Authorities) Refusing(held Keys) (prints string, expired bool) {
	var others []int
	for ca := range maxCAs + 1 {
		if held.Trusted.Has(ca) && ca != held.Signer {
			others = append(others, ca)
		}
	}
	if !held.Trusted.Has(held.Signer) || len(others) == 0 || len(others) > 8 {
		return "", false
	}
	expired = true
	for from := range others {
		expired = expired && t.Expired.Has(others[from])
		set := Set(0)
		for _, ca := range others[from:] {
			set |= SetOf(ca)
			prints += " " + set.Print()
		}
	}
	return prints[1:], expired
}

// Accept reports whether two parties accept each other's certificates.
func (t *Authorities) Accept(a, b Keys) bool {
	return a.Trusted.Has(b.Signer) && b.Trusted.Has(a.Signer) && !t.Expired.Has(a.Signer) && !t.Expired.Has(b.Signer)
}
