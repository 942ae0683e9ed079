package model

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// caFaults are added to all others in a cluster with TLS.
var caFaults = []fault{
	rotateCA, rotateCA, replaceCA, replaceCA, expireCA, putCABack, deleteSecrets, addCA, addCA, switchSigner, switchSigner, dropCAs,
	cutPeers, cutPeers, loseTrust, restartInPlace, restartInPlace, restartAll, restartOperator, restartOperator,
}

// rotateCA has a user request the next CA of TLS.managed.
func rotateCA(w *World, _ *rand.Rand) string {
	if !w.managedTLS() {
		return ""
	}
	w.RotateCA()
	return "request another CA"
}

// RotateCA requests the next CA of TLS.managed.
func (w *World) RotateCA() { w.TLS.asked = true }

// ReplaceCA replaces the CA at once. With TLS.managed, a person has deleted all Secrets. Otherwise the Secrets hold a CA that no process trusts yet.
func (w *World) ReplaceCA() {
	t := w.TLS
	if w.managedTLS() {
		t.signs, t.before, t.missing = 0, 0, true
		return
	}
	ca := t.newCA()
	fresh := keys{setOf(ca), ca}
	t.held, t.trustSince, t.shownSince = secrets{fresh, fresh}, w.now, w.now
}

// ReplaceCAOfClients replaces at once the CA of clients in Secrets that a user writes.
func (w *World) ReplaceCAOfClients() {
	peer := w.TLS.held.peer
	w.ReplaceCA()
	w.TLS.held.peer = peer
}

func replaceCA(w *World, r *rand.Rand) string {
	before := w.TLS.held
	w.ReplaceCA()
	said := "replace the CA at once"
	if !w.managedTLS() {
		switch r.IntN(3) {
		case 0:
			w.TLS.held.client, said = before.client, said+", that of peers only"
		case 1:
			w.TLS.held.peer, said = before.peer, said+", that of clients only"
		}
	}
	return said
}

// ExpireCA has the CAs in use expire, while the operator was down.
func (w *World) ExpireCA() {
	for _, ca := range []int{w.TLS.signs, w.TLS.held.peer.signer, w.TLS.held.client.signer} {
		w.TLS.expired |= setOf(ca)
	}
}

func expireCA(w *World, _ *rand.Rand) string {
	w.ExpireCA()
	if !w.managedTLS() {
		w.ReplaceCA() // a user does what the operator does otherwise
	}
	return "the CA has expired"
}

// putCABack has a person put an earlier CA into the Secrets again.
func putCABack(w *World, r *rand.Rand) string {
	t := w.TLS
	if t.last < 2 {
		return ""
	}
	ca := 1 + r.IntN(t.last)
	if !t.valid(ca) {
		return ""
	}
	if w.managedTLS() {
		t.signs, t.before = ca, 0
	} else {
		t.held = secrets{keys{setOf(ca), ca}, keys{setOf(ca), ca}}
	}
	return fmt.Sprintf("put CA %d back", ca)
}

// deleteSecrets deletes the Secrets of members and clients, and keeps that of the CA.
func deleteSecrets(w *World, _ *rand.Rand) string {
	if !w.managedTLS() {
		return ""
	}
	w.TLS.missing = true
	return "delete the TLS Secrets"
}

// addCA has a user add a CA to those that the Secrets hold, as the first step of a rotation.
func addCA(w *World, _ *rand.Rand) string {
	if w.managedTLS() {
		return ""
	}
	w.AddCA()
	return "add a CA to the Secrets"
}

// AddCA has a user add a CA to the Secrets.
func (w *World) AddCA() {
	t := w.TLS
	ca := setOf(t.newCA())
	t.held.peer.trusted, t.held.client.trusted = t.held.peer.trusted|ca, t.held.client.trusted|ca
}

// SlowNodeClocks has the clocks of all nodes be behind.
func (w *World) SlowNodeClocks() {
	for i := range w.pods {
		w.pods[i].setTLS(func(e *endpoint) { e.skew = -wrongClock })
	}
}

// EndLate ends the containers of members that have run for a time without a leader. The kubelet starts them again in their Pods.
func (w *World) EndLate(seconds int) {
	for i := range w.pods {
		if p := &w.pods[i]; p.state == state.PodRunning && p.mute && w.now-p.tls.since > seconds {
			p.state = state.PodStarting
			w.unready(p)
		}
	}
	w.elect()
}

// Hang has the etcd in a Pod of that member answer no one, if it has one. It reports whether the member exists.
func (w *World) Hang(name string) bool {
	p := w.pod(name)
	if p != nil {
		p.hung = true
		w.elect()
	}
	l := w.formed()
	return l != nil && l.entry(name) != nil
}

// Member is the name of the member with a Pod of that number.
func (w *World) Member(pod int) string { return w.pods[pod].name }

// switchSigner has a user write certificates of another CA that the Secrets hold.
func switchSigner(w *World, r *rand.Rand) string {
	t, ca := w.TLS, 0
	if w.managedTLS() {
		return ""
	}
	if ca = 1 + r.IntN(t.last); !t.valid(ca) || !t.held.peer.trusted.has(ca) || !t.held.client.trusted.has(ca) {
		return ""
	}
	t.held.peer.signer, t.held.client.signer = ca, ca
	return fmt.Sprintf("certificates of CA %d", ca)
}

// dropCAs has a user remove the CAs that signed no certificate.
func dropCAs(w *World, _ *rand.Rand) string {
	if w.managedTLS() {
		return ""
	}
	for _, k := range []*keys{&w.TLS.held.peer, &w.TLS.held.client} {
		k.trusted = setOf(k.signer)
	}
	return "remove the CAs that sign nothing"
}

// cutPeers ends the connections between a member and the others for a moment.
func cutPeers(w *World, r *rand.Rand) string {
	p := w.anyPod(r)
	if p == nil || p.tls == nil {
		return ""
	}
	w.CutPeers(p.name)
	return "cut the connections of " + p.name
}

// CutPeers ends the connections between a member and the others for a moment.
func (w *World) CutPeers(name string) {
	p := w.pod(name)
	w.TLS.links = slices.DeleteFunc(w.TLS.links, func(l link) bool { return l[0] == p.tls.process || l[1] == p.tls.process })
	w.elect()
}

// CutAllPeers ends all connections between members for a moment.
func (w *World) CutAllPeers() {
	w.TLS.links = nil
	w.elect()
}

// loseTrust removes the annotation with the CAs that a Pod was started with.
func loseTrust(w *World, r *rand.Rand) string {
	p := w.anyPod(r)
	if p == nil || p.tls == nil {
		return ""
	}
	p.setTLS(func(e *endpoint) { e.trust = "" })
	return "remove the annotation trust of " + p.name
}

func restartOperator(w *World, _ *rand.Rand) string {
	w.RestartOperator()
	return "restart the operator"
}

// forget is what an operator that ends loses.
func (w *World) forget() {
	w.waiting = state.Waiting{}
	if w.TLS != nil {
		w.TLS.silence = repair.Silence{}
	}
}

// RestartOperator has another process of the operator continue, which has seen nothing.
func (w *World) RestartOperator() {
	w.forget()
	w.clocks = &clock.Seen{}
}

// repairTLS corrects what only a user can correct: a certificate of a CA that its own Secret does not hold.
func (w *World) repairTLS() {
	t := w.TLS
	if t == nil || w.managedTLS() {
		return
	}
	for _, k := range []*keys{&t.held.peer, &t.held.client} {
		if !k.trusted.has(k.signer) || t.expired.has(k.signer) {
			ca := t.newCA()
			*k = keys{k.trusted | setOf(ca), ca}
		}
	}
}
