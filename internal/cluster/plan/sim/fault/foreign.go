package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Foreign members are those that a person adds. They run outside of Kubernetes, and the operator cannot see them.

// maxForeign bounds how many a person adds to one cluster.
const maxForeign = 2

// foreignFaults are what a person does with members of their own.
var foreignFaults = []fault{addForeign, addForeign, promoteForeign, promoteForeign, stopForeign, stopForeign, sayStopped, takeForeignAway, consentToRemoval}

// doToForeign does one of them.
func doToForeign(w *world.World, r *rand.Rand) string {
	return foreignFaults[r.IntN(len(foreignFaults))](w, r)
}

// AddForeign adds a foreign learner to the cluster. It reports false if etcd refuses it.
func AddForeign(w *world.World) bool {
	l := raft.Changeable(w)
	if l == nil || slices.ContainsFunc(l.Entries, func(e world.Entry) bool { return e.Learner }) {
		return false
	}
	raft.Write(w, l)
	w.NextID++
	e := world.Entry{ID: etcd.ID(w.NextID), Name: fmt.Sprintf("guest-%d", w.NextID), Learner: true, Foreign: true, Started: true, Ran: true}
	if w.Outside == nil {
		w.Outside = map[string]*world.Data{}
	}
	w.Outside[e.Name] = &world.Data{Cluster: l.ID, Member: e.ID, Storage: l.Version, Index: l.Index}
	if led := w.DataOf(l.ByID(l.Leader).Name); led != nil {
		w.Outside[e.Name].Snapshot = led.Snapshot
	}
	l.Entries = append(l.Entries, e)
	return true
}

// PromoteForeign gives the foreign learner its vote. It reports false if there is none.
func PromoteForeign(w *world.World) bool {
	l := raft.Changeable(w)
	if l == nil {
		return false
	}
	for i := range l.Entries {
		if e := &l.Entries[i]; e.Foreign && e.Learner && raft.Up(w, l, e) {
			w.DataOf(e.Name).Index = l.Index
			e.Learner, e.CaughtUp = false, true
			raft.Write(w, l)
			l.Cooling = 3
			return true
		}
	}
	return false
}

func addForeign(w *world.World, _ *rand.Rand) string {
	if l := w.Formed(); l == nil || raft.Foreigners(l) >= maxForeign || !AddForeign(w) {
		return ""
	}
	return "add a foreign learner"
}

func promoteForeign(w *world.World, _ *rand.Rand) string {
	if !PromoteForeign(w) {
		return ""
	}
	return "promote a foreign learner"
}

// stopForeign stops a foreign member, or starts it again.
func stopForeign(w *world.World, r *rand.Rand) string {
	l := w.Formed()
	if l == nil || len(l.Entries) == 0 {
		return ""
	}
	e := &l.Entries[r.IntN(len(l.Entries))]
	if !e.Foreign || (!e.Down && !spare(w, e.Name)) {
		return ""
	}
	e.Down = !e.Down
	if !e.Down {
		annotate(w, v1beta2.AnnotationStoppedForeign, "") // or the person would lie
	}
	return fmt.Sprintf("%s is down: %v", e.Name, e.Down)
}

// StopForeign stops a foreign voter. It reports false if there is none.
func StopForeign(w *world.World) bool {
	l := w.Formed()
	if l == nil {
		return false
	}
	for i := range l.Entries {
		if e := &l.Entries[i]; e.Foreign && !e.Learner && !e.Down {
			e.Down = true
			return true
		}
	}
	return false
}

// takeForeignAway removes a foreign member as its owner would, with etcdctl.
func takeForeignAway(w *world.World, _ *rand.Rand) string {
	l := raft.Changeable(w)
	if l == nil {
		return ""
	}
	for _, e := range l.Entries {
		if e.Foreign && raft.Remove(w, l, e.ID) == nil {
			return "its owner removes " + e.Name
		}
	}
	return ""
}

// ConsentToForeign annotates the EtcdCluster, so that the operator may remove all foreign members.
func ConsentToForeign(w *world.World) {
	all := ""
	for _, l := range w.Incarnations {
		for _, e := range l.Entries {
			if e.Foreign {
				all += e.ID.String() + ","
			}
		}
	}
	annotate(w, v1beta2.AnnotationRemoveForeign, all)
}

func consentToRemoval(w *world.World, r *rand.Rand) string {
	annotate(w, v1beta2.AnnotationRemoveForeign, "")
	if r.IntN(2) == 0 {
		return "no consent to the removal of foreign members"
	}
	ConsentToForeign(w)
	return "consent to the removal of foreign members"
}

// sayStopped annotates the EtcdCluster with the foreign members that have stopped.
func sayStopped(w *world.World, _ *rand.Rand) string {
	stopped := ""
	for _, l := range w.Incarnations {
		for _, e := range l.Entries {
			if e.Foreign && e.Down {
				stopped += e.ID.String() + ","
			}
		}
	}
	annotate(w, v1beta2.AnnotationStoppedForeign, stopped)
	return "a person says which foreign members have stopped"
}

// SayStopped annotates the EtcdCluster with the foreign members that do not run.
func SayStopped(w *world.World) { sayStopped(w, nil) }
