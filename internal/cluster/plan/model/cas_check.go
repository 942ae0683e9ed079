package model

import (
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// lockedOut reports whether the quorum of a life may be stopped, because it serves only those that are connected, and nothing else can let it accept a
// certificate again. All its members refuse the operator, and have done so for state.StartGrace. Each voter that was restarted has run for as long, and could not
// join.
func (w *World) lockedOut(l *life, step steps.DeletePod) bool {
	if w.TLS == nil || step.Reason != v1beta2.ReasonRotatingCertificates {
		return false
	}
	grace, restarted := int(state.StartGrace/time.Second), false
	for i := range l.entries {
		e := &l.entries[i]
		p := w.pod(e.name)
		if e.learner {
			continue
		}
		switch {
		case w.up(l, e) && (e.foreign || w.acceptsOperator(p)):
			return false
		case w.up(l, e):
		case w.runs(l, e) && w.now-p.tls.since < grace && w.acceptsOperator(p):
			return false
		case w.runs(l, e):
			restarted = restarted || w.acceptsOperator(p)
		case p == nil && w.dataOf(e.name) != nil, p != nil && !p.stuck:
			return false // it may come back
		}
	}
	return restarted || w.TLS.lockedSince >= 0 && w.now-w.TLS.lockedSince >= grace
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
		if p.tls == nil || p.tls.has.peer.trusted != t.held.peer.trusted || p.tls.has.client.trusted != t.held.client.trusted {
			w.violate(EveryRunSettles, "Done is reported, but %s trusts other CAs than its Secrets hold: %v, and they hold %v", p.name, p.tls, t.held)
		}
	}
}

// restartsByHand reports whether a run ended because members refuse the operator, and a user who replaced a CA at once must restart them.
func (w *World) restartsByHand(wait steps.Wait) bool {
	return w.TLS != nil && wait.Reason == v1beta2.ReasonMembersUnreachable && strings.Contains(wait.Message, "other CAs than their Secrets hold")
}

// onlyInPods reports whether a message says that a restart for the present CA would delete data, so that a person must put the CA before back.
func (w *World) onlyInPods(said string) bool {
	return w.TLS != nil && w.dataInPods() && (strings.Contains(said, "Put the previous CA back") || strings.Contains(said, "crictl stop"))
}
