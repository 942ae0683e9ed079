package fault

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// spaceFaults, and one of corrupt data, are added to all others in a world that is crowded.
var spaceFaults = []fault{fillSpace, fillSpace, raiseQuota, toggleDefragmentation, taint}

// fillSpace uses the quota up, by history more or less.
func fillSpace(w *world.World, r *rand.Rand) string {
	l := w.Formed()
	if l == nil || len(l.Entries) == 0 {
		return ""
	}
	room, keys := smallestQuota(w, l), r.IntN(world.Quota)
	for i := range l.Entries {
		if d := w.DataOf(l.Entries[i].Name); d != nil {
			d.File, d.Used, d.Keys = room, keys+r.IntN(room-keys), keys
			d.Told = d.Used
		}
	}
	l.NoSpace, l.FullAt = l.Entries[r.IntN(len(l.Entries))].ID, l.Index
	w.Cluster.Spec.NoSpace = &v1beta2.NoSpacePolicy{
		Action:        []v1beta2.NoSpaceAction{v1beta2.NoSpaceCompact, v1beta2.NoSpaceCompact, v1beta2.NoSpaceDefragment, v1beta2.NoSpaceWait}[r.IntN(4)],
		KeepRevisions: ptr.To(int64(r.IntN(10))),
	}
	return fmt.Sprintf("the space of %d MiB is used up, with %d MiB of keys", room, keys)
}

// smallestQuota of the members: all hold the same data, so the one with the smallest quota is full first.
func smallestQuota(w *world.World, l *world.Life) int {
	smallest := 0
	for i := range l.Entries {
		if p := w.Pod(l.Entries[i].Name); p != nil && (smallest == 0 || p.Quota < smallest) {
			smallest = p.Quota
		}
	}
	return cmp.Or(smallest, world.Quota)
}

// raiseQuota asks for more space in the spec. Pods that run keep theirs until they are recreated.
func raiseQuota(w *world.World, r *rand.Rand) string {
	asked := world.QuotaAsked(w.Cluster.Spec) + 1 + r.IntN(world.Quota)
	w.Cluster.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: resource.NewQuantity(int64(asked)*world.MiB, resource.BinarySI)}
	w.Template++
	return fmt.Sprintf("quota %d MiB", asked)
}

func toggleDefragmentation(w *world.World, r *rand.Rand) string {
	w.Cluster.Spec.Defragmentation = nil
	switch r.IntN(3) {
	case 0:
		w.Cluster.Spec.Defragmentation = &v1beta2.DefragmentationPolicy{Schedule: "@hourly"}
	case 1:
		w.Cluster.Spec.Defragmentation = &v1beta2.DefragmentationPolicy{FreePercent: ptr.To[int32](20), MinimumSize: ptr.To(resource.MustParse("10Mi"))}
	}
	return "another defragmentation"
}

// SaysCorrupt spoils the data of a member, which ends when it reads it next. A seed is left alone: it was restored just now.
func SaysCorrupt(w *world.World, r *rand.Rand) string {
	p := anyPod(w, r)
	if p == nil || p.InPod || !spare(w, p.Name) || (w.Gentle && Losing(w)) {
		return ""
	}
	d := w.Running(p)
	if d == nil || p.State == state.PodDeleting || !w.Life(d.Cluster).Adopted {
		return ""
	}
	d.Corrupt = true
	if p.State == state.PodRunning {
		p.State = state.PodStarting
		raft.Unready(w, p)
	}
	return "corrupt the data of " + p.Name
}

// taint gives one member, or two, other data than the rest, which etcd notices. It may be wrong about whose that is.
func taint(w *world.World, r *rand.Rand) string {
	l := w.Formed()
	if l == nil || len(l.Entries) == 0 || raft.Foreigners(l) > 0 {
		return ""
	}
	said := "other data on"
	for range 1 + r.IntN(2) {
		e := &l.Entries[r.IntN(len(l.Entries))]
		if d := w.DataOf(e.Name); d != nil && !e.Learner && spare(w, e.Name) {
			d.Tainted = true
			l.Accused = e.ID
			said += " " + e.Name
		}
	}
	switch {
	case l.Accused == 0:
		return ""
	case r.IntN(6) == 0:
		l.Accused = l.Entries[r.IntN(len(l.Entries))].ID
	case r.IntN(6) == 0:
		l.Nobody = true
	}
	return said
}

func newLeader(w *world.World, r *rand.Rand) string {
	if len(w.Incarnations) == 0 {
		return ""
	}
	l := &w.Incarnations[r.IntN(len(w.Incarnations))]
	for i := range l.Entries {
		e := &l.Entries[i]
		if l.Leader != 0 && !e.Learner && raft.Up(w, l, e) && w.DataOf(e.Name).Index == l.Index && r.IntN(2) == 0 {
			l.Leader = e.ID
			return "new leader " + e.Name
		}
	}
	return ""
}
