package model

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Foreign members are those that a person adds. They run outside of Kubernetes, and the operator cannot see them.

// maxForeign bounds how many a person adds to one cluster.
const maxForeign = 2

// foreignFaults are what a person does with members of their own.
var foreignFaults = []fault{addForeign, addForeign, promoteForeign, promoteForeign, stopForeign, stopForeign, sayStopped, takeForeignAway, consentToRemoval}

// doToForeign does one of them.
func doToForeign(w *World, r *rand.Rand) string {
	return foreignFaults[r.IntN(len(foreignFaults))](w, r)
}

// changeable is the cluster that clients are led to, if its members accept a change of the membership.
func (w *World) changeable() *life {
	l := w.formed()
	restore := w.Cluster.Status.Restore
	if l == nil || l.leader == 0 || l.cooling > 0 || l.downgrade != 0 || !l.adopted || (restore != nil && restore.Step == v1beta2.RestoreSwitching) {
		return nil
	}
	return l
}

func foreigners(l *life) (n int) {
	for _, e := range l.entries {
		if e.foreign {
			n++
		}
	}
	return n
}

// AddForeign adds a foreign learner to the cluster. It reports false if etcd refuses it.
func (w *World) AddForeign() bool {
	l := w.changeable()
	if l == nil || slices.ContainsFunc(l.entries, func(e entry) bool { return e.learner }) {
		return false
	}
	w.write(l)
	w.nextID++
	e := entry{id: etcd.ID(w.nextID), name: fmt.Sprintf("guest-%d", w.nextID), learner: true, foreign: true, started: true, ran: true}
	if w.outside == nil {
		w.outside = map[string]*data{}
	}
	w.outside[e.name] = &data{cluster: l.id, member: e.id, storage: l.version, index: l.index}
	if led := w.dataOf(l.byID(l.leader).name); led != nil {
		w.outside[e.name].snapshot = led.snapshot
	}
	l.entries = append(l.entries, e)
	return true
}

// PromoteForeign gives the foreign learner its vote. It reports false if there is none.
func (w *World) PromoteForeign() bool {
	l := w.changeable()
	if l == nil {
		return false
	}
	for i := range l.entries {
		if e := &l.entries[i]; e.foreign && e.learner && w.up(l, e) {
			w.dataOf(e.name).index = l.index
			e.learner, e.caughtUp = false, true
			w.write(l)
			l.cooling = 3
			return true
		}
	}
	return false
}

// ConsentToForeign annotates the EtcdCluster, so that the operator may remove all foreign members.
func (w *World) ConsentToForeign() {
	all := ""
	for _, l := range w.incarnations {
		for _, e := range l.entries {
			if e.foreign {
				all += e.id.String() + ","
			}
		}
	}
	w.annotate(v1beta2.AnnotationRemoveForeign, all)
}

func addForeign(w *World, _ *rand.Rand) string {
	if l := w.formed(); l == nil || foreigners(l) >= maxForeign || !w.AddForeign() {
		return ""
	}
	return "add a foreign learner"
}

func promoteForeign(w *World, _ *rand.Rand) string {
	if !w.PromoteForeign() {
		return ""
	}
	return "promote a foreign learner"
}

// stopForeign stops a foreign member, or starts it again.
func stopForeign(w *World, r *rand.Rand) string {
	l := w.formed()
	if l == nil || len(l.entries) == 0 {
		return ""
	}
	e := &l.entries[r.IntN(len(l.entries))]
	if !e.foreign || (!e.down && !w.spare(e.name)) {
		return ""
	}
	e.down = !e.down
	if !e.down {
		w.annotate(v1beta2.AnnotationStoppedForeign, "") // or the person would lie
	}
	return fmt.Sprintf("%s is down: %v", e.name, e.down)
}

// takeForeignAway removes a foreign member as its owner would, with etcdctl.
func takeForeignAway(w *World, _ *rand.Rand) string {
	l := w.changeable()
	if l == nil {
		return ""
	}
	for _, e := range l.entries {
		if e.foreign && w.remove(l, e.id) == nil {
			return "its owner removes " + e.name
		}
	}
	return ""
}

func consentToRemoval(w *World, r *rand.Rand) string {
	w.annotate(v1beta2.AnnotationRemoveForeign, "")
	if r.IntN(2) == 0 {
		return "no consent to the removal of foreign members"
	}
	w.ConsentToForeign()
	return "consent to the removal of foreign members"
}

// sayStopped annotates the EtcdCluster with the foreign members that have stopped.
func sayStopped(w *World, _ *rand.Rand) string {
	stopped := ""
	for _, l := range w.incarnations {
		for _, e := range l.entries {
			if e.foreign && e.down {
				stopped += e.id.String() + ","
			}
		}
	}
	w.annotate(v1beta2.AnnotationStoppedForeign, stopped)
	return "a person says which foreign members have stopped"
}

// consentedTo says whether the user lets the operator remove a foreign member.
func (w *World) consentedTo(e entry) bool {
	return slices.Contains(state.NewAsked(w.Cluster.Annotations).RemoveForeign, e.id.String())
}

// checkForeign: a foreign member is removed by consent only.
func (w *World) checkForeign(e *entry) {
	if !w.consentedTo(*e) {
		w.violate(ForeignMembersAreKept, "%s is removed without consent", e.name)
	}
}

// downForeign counts the foreign voters that do not run.
func (w *World) downForeign(l *life) (n int) {
	for i := range l.entries {
		if e := &l.entries[i]; e.foreign && !e.learner && !w.up(l, e) {
			n++
		}
	}
	return n
}

// peerName is the name by which a member that joins lists the entry.
func (e entry) peerName() string {
	if e.foreign {
		return "foreign-" + e.id.String()
	}
	return e.name
}

// StopForeign stops a foreign voter. It reports false if there is none.
func (w *World) StopForeign() bool {
	l := w.formed()
	if l == nil {
		return false
	}
	for i := range l.entries {
		if e := &l.entries[i]; e.foreign && !e.learner && !e.down {
			e.down = true
			return true
		}
	}
	return false
}
