package fault

import (
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

var (
	deletePod     = onPod("delete Pod", func(w *world.World, p *world.Pod) { effects.Stop(w, p.Name) })
	unschedulable = onPod("no node for", func(_ *world.World, p *world.Pod) {
		if p.State == state.PodStarting {
			p.Unschedulable = true
		}
	})
	schedulable = onPod("a node for", func(_ *world.World, p *world.Pod) { p.Unschedulable = false })
	evict       = onPod("evict", func(w *world.World, p *world.Pod) {
		if p.State == state.PodRunning || p.State == state.PodStarting {
			p.State, p.Reason, p.Wrong = state.PodEnded, v1beta2.ReasonPodFailing, "Evicted"
			p.Scratch = nil
			raft.Unready(w, p)
		}
	})
	crash = onPod("crash", func(w *world.World, p *world.Pod) {
		if p.State == state.PodRunning {
			p.State, p.Broken = state.PodStarting, true
			raft.Unready(w, p)
		}
	})
	hang    = onPod("hang", func(_ *world.World, p *world.Pod) { p.Hung = true })
	restart = onPod("recover", func(_ *world.World, p *world.Pod) { p.Hung, p.Broken, p.Stuck = false, false, false })
)

// loseMember deletes a Pod and its volume at once.
func loseMember(w *world.World, r *rand.Rand) string {
	p := anyPod(w, r)
	if p == nil || !spare(w, p.Name) {
		return ""
	}
	name := p.Name // a Pod that has ended is deleted at once, and p is another one then
	effects.Stop(w, name)
	if v := w.Volume(name); v != nil {
		v.Deleting = true
	}
	return "lose " + name
}

// StopPod deletes a Pod, if there is one.
func StopPod(w *world.World, pod int) {
	if pod < len(w.Pods) {
		effects.Stop(w, w.Pods[pod].Name)
	}
}

// StopPods deletes all Pods.
func StopPods(w *world.World) {
	for _, p := range slices.Clone(w.Pods) {
		effects.Stop(w, p.Name)
	}
}

// LoseAnyMember loses the last member that has a Pod and a volume, with both.
func LoseAnyMember(w *world.World) {
	for i := len(w.Pods) - 1; i >= 0; i-- {
		p := w.Pods[i]
		if v := w.Volume(p.Name); v != nil && v.Data != nil {
			w.Pods = slices.Delete(w.Pods, i, i+1)
			w.Volumes = slices.DeleteFunc(w.Volumes, func(v world.Volume) bool { return v.Name == p.Name })
			raft.Elect(w)
			return
		}
	}
}

// Hang has the etcd in a Pod of that member answer no one, if it has one. It reports whether the member exists.
func Hang(w *world.World, name string) bool {
	p := w.Pod(name)
	if p != nil {
		p.Hung = true
		raft.Elect(w)
	}
	l := w.Formed()
	return l != nil && l.Entry(name) != nil
}

// Member is the name of the member with a Pod of that number.
func Member(w *world.World, pod int) string { return w.Pods[pod].Name }

// restartInPlace has the kubelet restart the container of etcd in its Pod.
func restartInPlace(w *world.World, r *rand.Rand) string {
	p := anyPod(w, r)
	if p == nil || p.State != state.PodRunning || (w.Gentle && Losing(w)) {
		return ""
	}
	p.State = state.PodStarting
	raft.Unready(w, p)
	return "restart the container of " + p.Name
}

// restartAll restarts the containers of all members at once, in their Pods.
func restartAll(w *world.World, _ *rand.Rand) string {
	for i := range w.Pods {
		if p := &w.Pods[i]; p.State == state.PodRunning && !p.InPod {
			p.State = state.PodStarting
			raft.Unready(w, p)
		}
	}
	return "restart all containers"
}

// EndLate ends the containers of members that have run for a time without a leader. The kubelet starts them again in their Pods.
func EndLate(w *world.World, seconds int) {
	for i := range w.Pods {
		if p := &w.Pods[i]; p.State == state.PodRunning && p.Mute && w.Now-p.TLS.Since > seconds {
			p.State = state.PodStarting
			raft.Unready(w, p)
		}
	}
	raft.Elect(w)
}

// wipeInPlace restarts the container on a volume that is empty by now: its node has booted again and cleared the disk. A member that has
// started just now may not be guarded yet.
func wipeInPlace(w *world.World, r *rand.Rand) string {
	p := anyPod(w, r)
	if p == nil || p.State != state.PodRunning || world.MayStartEmpty(p) || !spare(w, p.Name) || (w.Gentle && Losing(w)) {
		return ""
	}
	d := w.Running(p)
	if d == nil || !w.Life(d.Cluster).Adopted {
		return ""
	}
	if p.Scratch = nil; !p.InPod {
		w.Volume(p.Name).Data = nil
	}
	p.State = state.PodStarting
	raft.Unready(w, p)
	return "wipe the disk of " + p.Name
}
