package model

import (
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// lockedOut reports whether the quorum of a life may be stopped, because it serves only those that are connected, and nothing else can let it accept a
// certificate again. All its members refuse the operator. Each voter that was restarted for the present CAs has run for state.StartGrace, and could not join.
func (w *World) lockedOut(l *life, step steps.DeletePod) bool {
	if w.TLS == nil {
		return false
	}
	if w.PlainProbes && w.voters(l).KeepsQuorumWhileStopped(true) {
		return true // to the operator, such a member is one of those that are down
	}
	if p := w.pod(step.Name); len(l.fences) > 0 && p != nil && p.probesAlarm {
		return true // its Pod is not ready, although it serves
	}
	if step.Reason != v1beta2.ReasonRotatingCertificates {
		return false
	}
	return !slices.ContainsFunc(l.entries, func(e entry) bool { return w.mayJoin(l, &e) })
}

// mayJoin reports whether the operator must wait for a voter: it accepts the operator and serves, it has just started, or it was restarted and may come back. The operator
// cannot ask a foreign one.
func (w *World) mayJoin(l *life, e *entry) bool {
	p := w.pod(e.name)
	switch {
	case e.learner || e.foreign:
		return false
	case w.runs(l, e):
		started := w.now-p.tls.since < int(state.StartGrace/time.Second)
		return w.acceptsOperator(p) && (started || w.up(l, e))
	case p == nil:
		return w.dataOf(e.name) != nil
	}
	return !p.stuck && p.tls.trust == w.TLS.held.trust()
}

// forUserOfTLS reports whether a run ended with a wait in which only a user can help: the members serve or have the only data, and do not accept what the Secrets hold.
func (w *World) forUserOfTLS(wait steps.Wait) bool {
	return w.onlyInPods(wait.Message) || w.restartsByHand(wait) || wait.Stalled && (w.wouldLoseData() || w.peersRefuse())
}

// checkSeedStop: a seed that serves and accepts the operator is not stopped for a CA. It restarts once it is the cluster.
func (w *World) checkSeedStop(p *pod, step steps.DeletePod) {
	now := w.formed()
	if w.TLS == nil || p == nil || step.Reason != v1beta2.ReasonRotatingCertificates || now != nil && p.incarnation <= now.incarnation {
		return
	}
	if now == nil && p.start != state.StartSeed {
		return // a member of a cluster that has not formed, which no client reaches
	}
	if l := w.lifeOf(p.incarnation); l != nil && l.leader != 0 && w.acceptsOperator(p) && !p.hung {
		w.violate(QuorumIsKept, "seed %s serves, and is stopped for a CA that it need not trust yet", p.name)
	}
}

// rotates reports whether the operator replaces a CA, which takes time although nothing else is to do.
func (w *World) rotates() bool {
	t := w.TLS
	return t != nil && w.managedTLS() && (t.asked || t.before != 0 || t.held.peer.trusted != setOf(t.held.peer.signer))
}

// checkTrust of a cluster that is done: each process trusts the CAs that the Secrets hold, and no replacement of a CA is under way.
func (w *World) checkTrust() {
	t := w.TLS
	if t == nil {
		return
	}
	if t.missing || t.asked || t.before != 0 || w.managedTLS() && t.held.peer.signer != t.signs {
		w.violate(EveryRunSettles, "Done is reported, but the CA is being replaced: %+v", t)
	}
	for _, p := range w.pods {
		// A container that has restarted in its Pod may trust more.
		if p.tls == nil || t.held.peer.trusted&^p.tls.has.peer.trusted != 0 || t.held.client.trusted&^p.tls.has.client.trusted != 0 {
			w.violate(EveryRunSettles, "Done is reported, but %s does not trust all CAs that its Secrets hold: %v, and they hold %v", p.name, p.tls, t.held)
		}
	}
}

// restartsByHand reports whether a run ended because members refuse the operator, and a user who replaced a CA at once must restart them.
func (w *World) restartsByHand(wait steps.Wait) bool {
	byHand := strings.Contains(wait.Message, "other CAs than their Secrets hold")
	return w.TLS != nil && (byHand || w.PlainProbes && strings.Contains(wait.Message, "Delete the Pod to restart the member"))
}

// peersRefuse reports whether a user has replaced the CA of peers at once. Then a member that restarts, and one that is added, do not reach the others, which serve.
func (w *World) peersRefuse() bool {
	l := w.formed()
	return w.TLS != nil && !w.managedTLS() && l != nil && l.leader != 0 && slices.ContainsFunc(w.pods, func(p pod) bool {
		e := l.entry(p.name)
		return e != nil && p.tls != nil && w.up(l, e) && !w.TLS.accept(p.tls.has.peer, w.TLS.held.peer)
	})
}

// onlyInPods reports whether a message says that a restart for the present CA would delete data, so that a person must put the CA before back.
func (w *World) onlyInPods(said string) bool {
	return w.TLS != nil && (strings.Contains(said, "Put the previous CA back") || strings.Contains(said, "crictl stop"))
}

// wouldLoseData reports whether a member refuses the operator, and its data would be deleted with its Pod. Only a person decides about that.
func (w *World) wouldLoseData() bool {
	return w.TLS != nil && slices.ContainsFunc(w.pods, func(p pod) bool {
		v := w.volume(p.name)
		return p.tls != nil && p.tls.process != 0 && !w.acceptsOperator(&p) && (p.inPod || v == nil || v.deleting || v.lost)
	})
}

// Serves reports whether the cluster has a leader.
func (w *World) Serves() bool {
	l := w.formed()
	return l != nil && l.leader != 0
}
