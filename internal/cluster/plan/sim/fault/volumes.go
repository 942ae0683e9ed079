package fault

import (
	"math/rand/v2"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

func deleteVolume(w *world.World, r *rand.Rand) string {
	if len(w.Volumes) == 0 {
		return ""
	}
	v := &w.Volumes[r.IntN(len(w.Volumes))]
	if !spare(w, v.Name) {
		return ""
	}
	v.Deleting = true
	return "delete volume " + v.Name
}

// loseVolume deletes the PersistentVolume of a member. A process that runs keeps its open files.
func loseVolume(w *world.World, r *rand.Rand) string {
	if len(w.Volumes) == 0 {
		return ""
	}
	v := &w.Volumes[r.IntN(len(w.Volumes))]
	if v.Lost || !spare(w, v.Name) || (w.Gentle && Losing(w)) {
		return ""
	}
	v.Lost = true
	return "lose the PersistentVolume of " + v.Name
}

// LoseVolume deletes the PersistentVolume of a Pod, which is deleted, too.
func LoseVolume(w *world.World, pod int) {
	w.Volume(w.Pods[pod].Name).Lost = true
	effects.Stop(w, w.Pods[pod].Name)
}

// LoseDisks deletes the PersistentVolumes of all members. Their processes run on.
func LoseDisks(w *world.World) {
	for i := range w.Volumes {
		w.Volumes[i].Lost = true
	}
}

// findVolume brings back a PersistentVolume that was lost, with what it had: a storage system answers again, or a person imports a disk.
func findVolume(w *world.World, r *rand.Rand) string {
	for _, i := range r.Perm(len(w.Volumes)) {
		if v := &w.Volumes[i]; v.Lost && v.Away != nil && !v.Deleting {
			v.Lost, v.Data, v.Away = false, v.Away, nil
			return "the PersistentVolume of " + v.Name + " is back"
		}
	}
	return ""
}

// FillVolumes fills the volumes of all members, which end and cannot start again until their volumes grow.
func FillVolumes(w *world.World) {
	for i := range w.Volumes {
		w.Volumes[i].Full = true
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; p.State == state.PodRunning {
			p.State, p.Reason, p.Wrong = state.PodBlocked, v1beta2.ReasonPodFailing, effects.NoSpaceLeft
			raft.Unready(w, p)
		}
	}
	raft.Elect(w)
}

// Lag has the data on the volumes end the sooner the later they stand in the list, as after a loss of power.
func Lag(w *world.World) {
	for i := range w.Volumes {
		if d := w.Volumes[i].Data; d != nil {
			d.Index = len(w.Volumes) - i
			l := w.Life(d.Cluster)
			l.Index = 0
		}
	}
}

// What happens to the data on a volume while its member is away, or without any Pod being deleted.

// volatileFaults are added to all others in a world that is volatile.
var volatileFaults = []fault{loseVolume, findVolume, findVolume, saveCopy, saveCopy, bringCopy, bringCopy, bringCopy, restartInPlace, wipeInPlace, wipeInPlace}

// saveCopy has a person save what is on a volume, as a VolumeSnapshot does.
func saveCopy(w *world.World, r *rand.Rand) string {
	if len(w.Volumes) == 0 {
		return ""
	}
	v := &w.Volumes[r.IntN(len(w.Volumes))]
	if v.Data == nil || v.Aside || !w.Life(v.Data.Cluster).Adopted {
		return ""
	}
	if w.Copies == nil {
		w.Copies = map[string]world.Data{}
	}
	w.Copies[v.Name] = *v.Data
	return "save a copy of volume " + v.Name
}

// bringCopy has a person create the claim of a member again, from a copy. What the claim had is lost, unless it was lost before.
func bringCopy(w *world.World, r *rand.Rand) string {
	l := w.Formed()
	if l == nil || len(l.Entries) == 0 || w.StatusLost {
		return ""
	}
	name := l.Entries[r.IntN(len(l.Entries))].Name
	copied, saved := w.Copies[name]
	recorded := w.Recorded(name)
	if !saved || recorded.Claim == "" || w.Pod(name) != nil || copied.Cluster != l.ID || copied.Member != l.Entry(name).ID {
		return ""
	}
	v := w.Volume(name)
	if v != nil && (v.Aside || v.Data != nil && !spare(w, name)) {
		return ""
	}
	copied.Copied = true
	w.UIDs++
	again := world.Volume{Name: name, UID: w.UIDs, Created: w.Now, Incarnation: l.Incarnation, Data: &copied, Size: 8 << 30}
	if v != nil {
		again.InitialSize, again.Size, again.Kept = v.InitialSize, v.Size, v.Kept
		*v = again
	} else {
		w.Volumes = append(w.Volumes, again)
	}
	return "bring a copy of volume " + name
}

// copiedVolume says whether a person has put a copy under a member: more than one fault is needed to lose the record of its volume, too.
func copiedVolume(w *world.World) bool {
	for _, v := range w.Volumes {
		if v.Data != nil && v.Data.Copied && !v.Aside {
			return true
		}
	}
	return false
}
