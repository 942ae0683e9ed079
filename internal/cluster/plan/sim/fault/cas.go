package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

// caFaults are added to all others in a cluster with TLS.
var caFaults = []fault{
	rotateCA, rotateCA, replaceCA, replaceCA, expireCA, putCABack, deleteSecrets, addCA, addCA, switchSigner, switchSigner, dropCAs,
	cutPeers, cutPeers, loseTrust, restartInPlace, restartInPlace, restartAll, restartOperator, restartOperator,
}

// rotateCA has a user request the next CA of TLS.managed.
func rotateCA(w *world.World, _ *rand.Rand) string {
	if !w.ManagedTLS() {
		return ""
	}
	RotateCA(w)
	return "request another CA"
}

// RotateCA requests the next CA of TLS.managed.
func RotateCA(w *world.World) { w.TLS.Asked = true }

// ReplaceCA replaces the CA at once. With TLS.managed, a person has deleted all Secrets. Otherwise the Secrets hold a CA that no process trusts yet.
func ReplaceCA(w *world.World) {
	t := w.TLS
	if w.ManagedTLS() {
		t.Signs, t.Before, t.Missing = 0, 0, true
		return
	}
	ca := t.NewCA()
	fresh := cas.Keys{Trusted: cas.SetOf(ca), Signer: ca}
	t.Held, t.TrustSince, t.ShownSince = cas.Secrets{Peer: fresh, Client: fresh}, w.Now, w.Now
}

// ReplaceCAOfClients replaces at once the CA of clients in Secrets that a user writes.
func ReplaceCAOfClients(w *world.World) {
	peer := w.TLS.Held.Peer
	ReplaceCA(w)
	w.TLS.Held.Peer = peer
}

func replaceCA(w *world.World, r *rand.Rand) string {
	before := w.TLS.Held
	ReplaceCA(w)
	said := "replace the CA at once"
	if !w.ManagedTLS() {
		switch r.IntN(3) {
		case 0:
			w.TLS.Held.Client, said = before.Client, said+", that of peers only"
		case 1:
			w.TLS.Held.Peer, said = before.Peer, said+", that of clients only"
		}
	}
	return said
}

// ExpireCA has the CAs in use expire, while the operator was down.
func ExpireCA(w *world.World) {
	for _, ca := range []int{w.TLS.Signs, w.TLS.Held.Peer.Signer, w.TLS.Held.Client.Signer} {
		w.TLS.Expired |= cas.SetOf(ca)
	}
}

func expireCA(w *world.World, _ *rand.Rand) string {
	ExpireCA(w)
	if !w.ManagedTLS() {
		ReplaceCA(w) // a user does what the operator does otherwise
	}
	return "the CA has expired"
}

// putCABack has a person put an earlier CA into the Secrets again.
func putCABack(w *world.World, r *rand.Rand) string {
	t := w.TLS
	if t.Last < 2 {
		return ""
	}
	ca := 1 + r.IntN(t.Last)
	if !t.Valid(ca) {
		return ""
	}
	if w.ManagedTLS() {
		t.Signs, t.Before = ca, 0
	} else {
		t.Held = cas.Secrets{Peer: cas.Keys{Trusted: cas.SetOf(ca), Signer: ca}, Client: cas.Keys{Trusted: cas.SetOf(ca), Signer: ca}}
	}
	return fmt.Sprintf("put CA %d back", ca)
}

// deleteSecrets deletes the Secrets of members and clients, and keeps that of the CA.
func deleteSecrets(w *world.World, _ *rand.Rand) string {
	if !w.ManagedTLS() {
		return ""
	}
	w.TLS.Missing = true
	return "delete the TLS Secrets"
}

// addCA has a user add a CA to those that the Secrets hold, as the first step of a rotation.
func addCA(w *world.World, _ *rand.Rand) string {
	if w.ManagedTLS() {
		return ""
	}
	AddCA(w)
	return "add a CA to the Secrets"
}

// AddCA has a user add a CA to the Secrets.
func AddCA(w *world.World) {
	t := w.TLS
	ca := cas.SetOf(t.NewCA())
	t.Held.Peer.Trusted, t.Held.Client.Trusted = t.Held.Peer.Trusted|ca, t.Held.Client.Trusted|ca
}

// switchSigner has a user write certificates of another CA that the Secrets hold.
func switchSigner(w *world.World, r *rand.Rand) string {
	t, ca := w.TLS, 0
	if w.ManagedTLS() {
		return ""
	}
	if ca = 1 + r.IntN(t.Last); !t.Valid(ca) || !t.Held.Peer.Trusted.Has(ca) || !t.Held.Client.Trusted.Has(ca) {
		return ""
	}
	t.Held.Peer.Signer, t.Held.Client.Signer = ca, ca
	return fmt.Sprintf("certificates of CA %d", ca)
}

// dropCAs has a user remove the CAs that signed no certificate.
func dropCAs(w *world.World, _ *rand.Rand) string {
	if w.ManagedTLS() {
		return ""
	}
	for _, k := range []*cas.Keys{&w.TLS.Held.Peer, &w.TLS.Held.Client} {
		k.Trusted = cas.SetOf(k.Signer)
	}
	return "remove the CAs that sign nothing"
}

// repairTLS corrects what only a user can correct: a certificate of a CA that its own Secret does not hold.
func repairTLS(w *world.World) {
	t := w.TLS
	if t == nil || w.ManagedTLS() {
		return
	}
	for _, k := range []*cas.Keys{&t.Held.Peer, &t.Held.Client} {
		if !k.Trusted.Has(k.Signer) || t.Expired.Has(k.Signer) {
			ca := t.NewCA()
			*k = cas.Keys{Trusted: k.Trusted | cas.SetOf(ca), Signer: ca}
		}
	}
}

// cutPeers ends the connections between a member and the others for a moment.
func cutPeers(w *world.World, r *rand.Rand) string {
	p := anyPod(w, r)
	if p == nil || p.TLS == nil {
		return ""
	}
	CutPeers(w, p.Name)
	return "cut the connections of " + p.Name
}

// CutPeers ends the connections between a member and the others for a moment.
func CutPeers(w *world.World, name string) {
	p := w.Pod(name)
	w.TLS.Links = slices.DeleteFunc(w.TLS.Links, func(l cas.Link) bool { return l[0] == p.TLS.Process || l[1] == p.TLS.Process })
	raft.Elect(w)
}

// CutAllPeers ends all connections between members for a moment.
func CutAllPeers(w *world.World) {
	w.TLS.Links = nil
	raft.Elect(w)
}

// loseTrust removes the annotation with the CAs that a Pod was started with.
func loseTrust(w *world.World, r *rand.Rand) string {
	p := anyPod(w, r)
	if p == nil || p.TLS == nil {
		return ""
	}
	p.SetTLS(func(e *cas.Endpoint) { e.Trust = "" })
	return "remove the annotation trust of " + p.Name
}

// SlowNodeClocks has the clocks of all nodes be behind.
func SlowNodeClocks(w *world.World) {
	for i := range w.Pods {
		w.Pods[i].SetTLS(func(e *cas.Endpoint) { e.Skew = -cas.WrongClock })
	}
}
