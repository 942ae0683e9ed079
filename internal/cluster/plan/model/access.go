package model

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// What keeps the operator from its members while clients are served, and volumes whose PersistentVolume is deleted.

// accessFaults are added to all others in a world that is estranged.
var accessFaults = []fault{toggleAuth, toggleCutOff, loseVolume, loseVolume}

// toggleAuth turns etcd's authentication on, without a user for the operator, or off again.
func toggleAuth(w *World, _ *rand.Rand) string {
	w.AuthOn = !w.AuthOn
	return fmt.Sprintf("authentication: %v", w.AuthOn)
}

// toggleCutOff has a NetworkPolicy keep the operator from all members, or removes it.
func toggleCutOff(w *World, _ *rand.Rand) string {
	w.CutOff = !w.CutOff
	return fmt.Sprintf("the operator is cut off: %v", w.CutOff)
}

// loseVolume deletes the PersistentVolume of a member. A process that runs keeps its open files.
func loseVolume(w *World, r *rand.Rand) string {
	if len(w.volumes) == 0 {
		return ""
	}
	v := &w.volumes[r.IntN(len(w.volumes))]
	if v.lost || !w.spare(v.name) || (w.Gentle && w.losing()) {
		return ""
	}
	v.lost = true
	return "lose the PersistentVolume of " + v.name
}

// LoseNode loses the node of a Pod, if there is one: Kubernetes deletes the Pod, and nobody confirms that it stopped.
func (w *World) LoseNode(pod int) {
	if pod >= len(w.pods) {
		return
	}
	w.pods[pod].stuck = true
	w.stop(w.pods[pod].name)
}

// LoseVolume deletes the PersistentVolume of a Pod, which is deleted, too.
func (w *World) LoseVolume(pod int) {
	w.volume(w.pods[pod].name).lost = true
	w.stop(w.pods[pod].name)
}

// StopPod deletes a Pod, if there is one.
func (w *World) StopPod(pod int) {
	if pod < len(w.pods) {
		w.stop(w.pods[pod].name)
	}
}

// StopPods deletes all Pods.
func (w *World) StopPods() {
	for _, p := range slices.Clone(w.pods) {
		w.stop(p.name)
	}
}

// BadEnv changes spec.pod.etcdEnv to what etcd refuses to start with.
func (w *World) BadEnv() { badTemplate(w, nil) }

// refuses says what a member answers that the operator may not or cannot ask; false if it may.
func (w *World) refuses(p *pod, m *state.Member) bool {
	switch {
	case w.CutOff:
		m.Unanswered = "i/o timeout"
	case w.AuthOn:
		m.Refusal = etcd.RefusedUnknown
		d := w.running(p)
		m.Guarded = !p.hung && d != nil && w.life(d.cluster).leader != 0 && w.life(d.cluster).byID(d.member) != nil
	default:
		return false
	}
	return true
}

// hidden reports whether a member serves, and the operator cannot see that.
func (w *World) hidden(e *entry) bool {
	p := w.pod(e.name)
	return p != nil && (p.deaf || p.cutOff || p.tls != nil && (!w.acceptsOperator(p) || p.tls.slow == w.now))
}

// audible reports whether the operator can ask a member that has a leader.
func (w *World) audible(l *life) bool {
	return !w.CutOff && (w.TLS == nil || !w.TLS.slow) && slices.ContainsFunc(l.entries, func(e entry) bool {
		p := w.pod(e.name)
		return p != nil && p.state == state.PodRunning && !p.deaf && !e.learner && w.up(l, &e) && w.acceptsOperator(p)
	})
}

// tickVolumes takes the data of lost volumes once no process has it open.
func (w *World) tickVolumes() (moved bool) {
	for i := range w.volumes {
		v := &w.volumes[i]
		p := w.pod(v.name)
		if v.lost && v.data != nil && (p == nil || p.state != state.PodRunning) {
			v.away, v.data, moved = v.data, nil, true
		}
	}
	return moved
}
