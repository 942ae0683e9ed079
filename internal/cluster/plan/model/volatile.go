package model

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// What happens to the data on a volume while its member is away, or without any Pod being deleted.

// volatileFaults are added to all others in a world that is volatile.
var volatileFaults = []fault{loseVolume, findVolume, findVolume, saveCopy, saveCopy, bringCopy, bringCopy, bringCopy, restartInPlace, wipeInPlace, wipeInPlace}

// saveCopy has a person save what is on a volume, as a VolumeSnapshot does.
func saveCopy(w *World, r *rand.Rand) string {
	if len(w.volumes) == 0 {
		return ""
	}
	v := &w.volumes[r.IntN(len(w.volumes))]
	if v.data == nil || v.aside || !w.life(v.data.cluster).adopted {
		return ""
	}
	if w.copies == nil {
		w.copies = map[string]data{}
	}
	w.copies[v.name] = *v.data
	return "save a copy of volume " + v.name
}

// bringCopy has a person create the claim of a member again, from a copy. What the claim had is lost, unless it was lost before.
func bringCopy(w *World, r *rand.Rand) string {
	l := w.formed()
	if l == nil || len(l.entries) == 0 || w.statusLost {
		return ""
	}
	name := l.entries[r.IntN(len(l.entries))].name
	copied, saved := w.copies[name]
	recorded := w.recorded(name)
	if !saved || recorded.Claim == "" || w.pod(name) != nil || copied.cluster != l.id || copied.member != l.entry(name).id {
		return ""
	}
	v := w.volume(name)
	if v != nil && (v.aside || v.data != nil && !w.spare(name)) {
		return ""
	}
	copied.copied = true
	w.uids++
	again := volume{name: name, uid: w.uids, created: w.now, incarnation: l.incarnation, data: &copied, size: 8 << 30}
	if v != nil {
		again.initialSize, again.size, again.kept = v.initialSize, v.size, v.kept
		*v = again
	} else {
		w.volumes = append(w.volumes, again)
	}
	return "bring a copy of volume " + name
}

// restartInPlace has the kubelet restart the container of etcd in its Pod.
func restartInPlace(w *World, r *rand.Rand) string {
	p := w.anyPod(r)
	if p == nil || p.state != state.PodRunning || (w.Gentle && w.losing()) {
		return ""
	}
	p.state = state.PodStarting
	w.unready(p)
	return "restart the container of " + p.name
}

// wipeInPlace restarts the container on a volume that is empty by now: its node has booted again and cleared the disk. A member that has
// started just now may not be guarded yet.
func wipeInPlace(w *World, r *rand.Rand) string {
	p := w.anyPod(r)
	if p == nil || p.state != state.PodRunning || mayStartEmpty(p) || !w.spare(p.name) || (w.Gentle && w.losing()) {
		return ""
	}
	d := w.running(p)
	if d == nil || !w.life(d.cluster).adopted {
		return ""
	}
	if p.scratch = nil; !p.inPod {
		w.volume(p.name).data = nil
	}
	p.state = state.PodStarting
	w.unready(p)
	return "wipe the disk of " + p.name
}

func volumeID(v *volume) state.VolumeID {
	return state.VolumeID{Claim: types.UID(fmt.Sprintf("claim-%d", v.uid)), Volume: fmt.Sprintf("pv-%d", v.uid)}
}

// recorded is the volume that the status has for a member.
func (w *World) recorded(name string) state.VolumeID {
	return state.NewState(&w.Cluster).KnownVolumes[name]
}

// otherThanRecorded is what the operator reads past its cache before it starts a member with its data.
func (w *World) otherThanRecorded(s state.State, name string) bool {
	v := w.volume(name)
	if v == nil {
		return false
	}
	recorded := w.recorded(name)
	live := named(s, name)
	live.VolumeID, live.Volume = volumeID(v), state.VolumePresent
	s.KnownVolumes = map[string]state.VolumeID{}
	if recorded.Claim != "" {
		s.KnownVolumes[name] = recorded
	}
	return state.OnAnotherVolume(s, live)
}

// mayStartEmpty says whether a container of a Pod makes data if it finds none.
func mayStartEmpty(p *pod) bool {
	makes := p.start == state.StartNew || p.start == state.StartJoin || p.start == state.StartSeed
	return makes && !p.guarded && !p.waits
}

// copiedVolume says whether a person has put a copy under a member: more than one fault is needed to lose the record of its volume, too.
func (w *World) copiedVolume() bool {
	for _, v := range w.volumes {
		if v.data != nil && v.data.copied && !v.aside {
			return true
		}
	}
	return false
}

// checkCopy: no voter runs on an older copy of its data.
func (w *World) checkCopy(p *pod, d *data) {
	if l := w.life(d.cluster); d.copied && l.byID(d.member) != nil && !p.stale {
		w.violate(OneIdentityOneHistory, "%s starts under its old identity on an older copy of its data", p.name)
	}
}

// checkOnlyCopy: a Pod whose next Pod would be without its data is not stopped, unless the spec consents to continue without it.
func (w *World) checkOnlyCopy(l *life, e *entry, p *pod, step steps.DeletePod) {
	v := w.volume(p.name)
	if w.behindCache || step.Reason == v1beta2.ReasonRecovering || v == nil || !w.runs(l, e) {
		return
	}
	if v.lost || v.deleting {
		w.violate(DataIsKept, "the Pod of %s is stopped, and it has the only copy of its data", p.name)
	}
}

// checkGuarded: once a cluster is done, no member that has started makes data again.
func (w *World) checkGuarded(l *life) {
	for i := range w.pods {
		if e := l.entry(w.pods[i].name); w.Volatile && e != nil && e.started && mayStartEmpty(&w.pods[i]) {
			w.violate(OneIdentityOneHistory, "Done is reported, but %s starts without its data if its container restarts on an empty volume", e.name)
		}
	}
}

// dataInPods says whether the Pods of the cluster keep its data, as the spec asks or asked.
func (w *World) dataInPods() bool {
	for _, p := range w.pods {
		if l := w.formed(); p.inPod && l != nil && p.incarnation == l.incarnation {
			return true
		}
	}
	return !w.durable()
}

// LoseDisks deletes the PersistentVolumes of all members. Their processes run on.
func (w *World) LoseDisks() {
	for i := range w.volumes {
		w.volumes[i].lost = true
	}
}

// findVolume brings back a PersistentVolume that was lost, with what it had: a storage system answers again, or a person imports a disk.
func findVolume(w *World, r *rand.Rand) string {
	for _, i := range r.Perm(len(w.volumes)) {
		if v := &w.volumes[i]; v.lost && v.away != nil && !v.deleting {
			v.lost, v.data, v.away = false, v.away, nil
			return "the PersistentVolume of " + v.name + " is back"
		}
	}
	return ""
}
