package model

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// caSet is a set of CAs. CA n is bit n, and 0 is no CA.
type caSet uint64

// maxCAs is how many CAs one world has at most.
const maxCAs = 60

func setOf(ca int) caSet {
	if ca == 0 {
		return 0
	}
	return 1 << ca
}

func (s caSet) has(ca int) bool { return ca != 0 && s&setOf(ca) != 0 }

func (s caSet) print() string { return strconv.FormatUint(uint64(s), 16) }

// keys are what a Secret holds: the CAs that its reader trusts, and the CA that signed its certificate.
type keys struct {
	trusted caSet
	signer  int
}

// secrets hold the keys of peers, and those of clients and servers. The operator writes the same CAs into both.
type secrets struct{ peer, client keys }

// trust is the fingerprint of the CAs, as state.TrustOf makes it.
func (h secrets) trust() string {
	if h.peer.trusted == h.client.trusted {
		return h.peer.trusted.print()
	}
	return h.peer.trusted.print() + "-" + h.client.trusted.print()
}

func (h secrets) loaded() string { return fmt.Sprint(h) }

// authorities are the CAs and the Secrets of a cluster with TLS, and what depends on them.
type authorities struct {
	// held is what the Secrets of members and clients hold. missing: somebody has deleted them.
	held    secrets
	missing bool
	// signs is the CA of TLS.managed, and before the one that it replaces. asked: an annotation requests the next one. last numbers CAs.
	signs, before int
	asked         bool
	last          int
	// expired CAs sign nothing that a process accepts. Connections that exist are kept.
	expired caSet
	// trustSince is since when the Secrets hold their CAs, and shownSince since when their certificates.
	trustSince, shownSince int
	// links are the connections between etcd processes. processes numbers these.
	links     []link
	processes int
	// slow: no member answers in time in this pass.
	slow bool
	// silence is what the operator remembers of members that do not serve.
	silence repair.Silence
}

// endpoint is what a Pod with TLS has. It is replaced and never changed, so that copies of a world share it.
type endpoint struct {
	// trust and loaded are its annotations.
	trust, loaded string
	// has is what its process has read: CAs when it started, and certificates as the kubelet last wrote them.
	has secrets
	// process is the number of its etcd process, 0 if none runs. since is when that started. skew is by how many seconds the clock of its node is wrong.
	process, since, skew int
	// slow is when it last answered too late.
	slow int
}

// overlap is how long the CAs of TLS.managed overlap in these worlds.
const overlap = 2 * time.Minute

// Secure gives a world TLS, before its cluster forms. If managed, the operator has the CA. Otherwise a user writes the Secrets.
func (w *World) Secure(managed bool) {
	w.TLS = &authorities{}
	if managed {
		w.Cluster.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{CAOverlap: &metav1.Duration{Duration: overlap}}}
		w.TLS.missing = true
		return
	}
	w.Cluster.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member:         &v1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"},
		OperatorSecret: "client",
	}}
	ca := w.TLS.newCA()
	w.TLS.held = secrets{keys{setOf(ca), ca}, keys{setOf(ca), ca}}
}

func (t *authorities) clone() *authorities {
	if t == nil {
		return nil
	}
	c := *t
	c.links = slices.Clone(t.links)
	return &c
}

// newCA returns the number of a new CA. A world that has had too many has the last one again.
func (t *authorities) newCA() int {
	t.last = min(t.last+1, maxCAs)
	return t.last
}

func (w *World) managedTLS() bool { return w.Cluster.Spec.TLS.Issued() }

// valid reports whether a CA exists and has not expired.
func (t *authorities) valid(ca int) bool { return ca != 0 && !t.expired.has(ca) }

// certificates is what material.Judge says of the Secrets.
func (w *World) certificates() state.Certificates {
	t := w.TLS
	c := state.Certificates{Operator: true, Missing: t.missing}
	if !t.missing {
		c.Trust, c.Loaded = t.held.trust(), t.held.loaded()
	}
	if !w.managedTLS() {
		return c
	}
	c.CA = state.CertificateAuthority{Exists: t.signs != 0, Previous: t.before != 0, Invalid: t.signs != 0 && !t.valid(t.signs) && !t.valid(t.before)}
	switch {
	case t.signs == 0:
		c.Lacking = t.missing
		return c
	case !t.valid(t.signs):
		c.CA.ReplaceCause = "the current one expired"
	case t.asked && t.before == 0:
		c.CA.ReplaceCause = "an annotation requests it"
	}
	if t.missing {
		return c
	}
	held := t.held.peer
	needed := setOf(t.signs) | held.trusted&setOf(held.signer)
	c.Unknown, c.Superseded = held.trusted&needed != needed, held.trusted&^needed != 0
	c.Wanted = setOf(t.signs).print()
	c.Refusing, c.RefusingExpired = t.refusing(held)
	switch {
	case t.expired.has(held.signer):
		c.Due = "the certificate of peers must be replaced: it has expired"
	case held.signer != t.signs:
		c.Outdated = true
	}
	c.SwitchAfter, c.DropAfter = w.at(t.trustSince).Add(overlap), w.at(t.shownSince).Add(overlap)
	return c
}

// refusing are the sets of CAs that follow each other in the Secrets, and that did not sign the certificate of the operator.
func (t *authorities) refusing(held keys) (prints string, expired bool) {
	var others []int
	for ca := range maxCAs + 1 {
		if held.trusted.has(ca) && ca != held.signer {
			others = append(others, ca)
		}
	}
	if !held.trusted.has(held.signer) || len(others) == 0 || len(others) > 8 {
		return "", false
	}
	expired = true
	for from := range others {
		expired = expired && t.expired.has(others[from])
		set := caSet(0)
		for _, ca := range others[from:] {
			set |= setOf(ca)
			prints += " " + set.print()
		}
	}
	return prints[1:], expired
}

// setTLS changes what a Pod with TLS has.
func (p *pod) setTLS(change func(*endpoint)) {
	c := *p.tls
	change(&c)
	p.tls = &c
}

// mount writes the certificates of the Secrets into a Pod that runs. etcd reads CAs only when it starts.
func (e *endpoint) mount(held secrets) {
	e.has.peer.signer, e.has.client.signer = held.peer.signer, held.client.signer
}

// kubeletMounts writes changed certificates into a Pod that runs. It says whether that changed something.
func (w *World) kubeletMounts(p *pod) bool {
	if w.TLS == nil || w.TLS.missing || !w.mountsLater(p) || w.pick(4) != 0 {
		return false
	}
	p.setTLS(func(e *endpoint) { e.mount(w.TLS.held) })
	return true
}

// mountsLater reports whether the certificates in a Pod that runs are not those of the Secrets.
func (w *World) mountsLater(p *pod) bool {
	held := w.TLS.held
	return p.tls != nil && p.state == state.PodRunning && !w.TLS.missing && (p.tls.has.peer.signer != held.peer.signer || p.tls.has.client.signer != held.client.signer)
}
