package model

import (
	"math/rand/v2"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// clockFaults set the clock of the operator's node. The API server and the kubelets have the right time.
var clockFaults = []fault{jumpClock, jumpClock, correctClock}

// jumps of a clock, in both directions.
var jumps = []time.Duration{
	2 * time.Minute, 10 * time.Minute, 25 * time.Hour, 400 * 24 * time.Hour,
	-2 * time.Minute, -10 * time.Minute, -25 * time.Hour, -400 * 24 * time.Hour,
}

func jumpClock(w *World, r *rand.Rand) string {
	w.setClock(jumps[r.IntN(len(jumps))])
	return "the operator's clock is wrong by " + w.wrong.String()
}

func correctClock(w *World, _ *rand.Rand) string {
	if w.wrong == 0 {
		return ""
	}
	w.setClock(0)
	return "the operator's clock is right again"
}

// setClock sets the clock of the operator. What it has seen before stays as long ago as it is.
func (w *World) setClock(wrong time.Duration) {
	if w.wrong != wrong {
		w.clocks.Shift(wrong - w.wrong)
	}
	w.wrong = wrong
}

// observeClock gives a State the operator's time, and corrects stored times as the operator does.
func (w *World) observeClock(s *state.State) {
	if !w.Clocks && (w.TLS == nil || w.Stepwise) { // clocks of nodes are wrong, too
		return
	}
	s.Now = w.at(w.now).Add(w.wrong)
	certificates.NoteClock(s, -w.wrong)
	certificates.CorrectTimes(s, w.clocks)
}

// shortGrace is how long a voter may fail at least, in seconds, after it got its vote or after a quorum was elected.
const shortGrace = 60

// checkExpected: the time as a learner and the time without a quorum are not the member's failure.
func (w *World) checkExpected(step steps.RemoveMember, p *pod, grace int) {
	l := w.formed()
	if l == nil || p == nil || !step.Unresponsive() || w.TLS != nil { // there the operator remembers for itself, and a short loss of quorum is no reason to begin anew
		return
	}
	if e := l.byID(step.ID); e != nil && !e.learner && w.now-p.expectedSince < grace {
		w.violate(DataIsKept, "%s is replaced %d s after it could serve at the earliest, and %d s are allowed", step.Name, w.now-p.expectedSince, grace)
	}
}

// checkTime holds a step that depends on the time against the true time.
func (w *World) checkTime(step steps.Step) {
	switch step := step.(type) {
	case steps.RemoveMember:
		p := w.pod(step.Name)
		grace := int(w.Cluster.Spec.MemberReplacementGrace() / time.Second)
		if step.Unresponsive() && p != nil && !w.silentFor(p, grace) && w.now-p.unreadySince < grace {
			w.violate(DataIsKept, "%s is replaced after %d s without an answer, and %d s are allowed", step.Name, w.now-p.unreadySince, grace)
		}
		w.checkExpected(step, p, min(grace, shortGrace))
	case steps.DeleteVolume:
		kept := int(w.Cluster.Spec.KeepReplacedVolumes() / time.Second)
		for _, v := range w.volumes {
			if v.name == step.Name && v.aside && w.now-v.since < kept {
				w.violate(DataIsKept, "volume %s with the data from before is deleted after %d s, and is kept for %d s", step.Name, w.now-v.since, kept)
			}
		}
	}
}
