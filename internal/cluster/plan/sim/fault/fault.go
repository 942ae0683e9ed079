// Package fault is what users, nodes and clouds do to a simulated world, at random or as a test asks, and what repairs it.
package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

// faults, each as likely as the others.
var faults = []fault{
	deletePod, deletePod, deleteVolume, loseMember, unschedulable, schedulable, evict, crash, hang, restart, restart, restart, loseNode,
	resize, resize, newVersion, newTemplate, newLabels, badTemplate, badImage, goodImage, newRestore, verifyRestore, verifyRestore, deleteRestore, changeFate,
	SaysCorrupt, consent, loseStatus, loseServices, toggleStorageClass, toggleSecret, togglePause, newLeader, drain, drain, drain, toggleHibernate, toggleHibernate, toggleRetention, growVolumes,
	toggleRejecting, doToForeign, doToForeign, askAbout, toggleReadOnly, toggleReadOnly,
}

// Inflict does the fault of this number, and reports false if there is none.
func Inflict(w *world.World, number int, r *rand.Rand) (said string, ok bool) {
	if number >= len(faults) {
		return "", false
	}
	said = faults[number](w, r)
	raft.Elect(w)
	return said, true
}

// Random does one random thing to the world and says what.
func Random(w *world.World, r *rand.Rand) string {
	if r.IntN(3) == 0 {
		w.Cluster.Spec.Paused, w.SecretProblem, w.Cluster.Spec.Hibernate = false, "", false
	}
	all := faults
	if w.Crowded {
		all = append(all[:len(all):len(all)], spaceFaults...)
	}
	if w.Moving {
		all = append(all[:len(all):len(all)], moveToVolumes)
	}
	if w.Resizing {
		all = append(all[:len(all):len(all)], resizeFaults...)
	}
	if w.Refusing {
		all = append(all[:len(all):len(all)], refusalFaults...)
	}
	if w.Estranged {
		all = append(all[:len(all):len(all)], accessFaults...)
	}
	if w.Handmade {
		all = append(all[:len(all):len(all)], handFaults...)
	}
	if w.Volatile {
		all = append(all[:len(all):len(all)], volatileFaults...)
	}
	if w.Clocks {
		all = append(all[:len(all):len(all)], clockFaults...)
	}
	if w.TLS != nil {
		all = append(all[:len(all):len(all)], caFaults...)
	}
	said := all[r.IntN(len(all))](w, r)
	raft.Elect(w)
	return said
}

// Repair puts right what is not the operator's to put right, so that nothing is in its way but what it made.
func Repair(w *world.World) {
	w.Choose = nil
	setClock(w, 0)
	w.BadImage, w.SecretProblem, w.NoStorageClass = "", "", false
	w.Cluster.Spec.Paused, w.Cluster.Spec.Hibernate = false, false
	if running := w.Cluster.Status.CurrentVersion; running != "" {
		w.Cluster.Spec.Version = running
	}
	if change := w.Cluster.Status.VersionChange; change != nil {
		w.Cluster.Spec.Version = world.Newest[change.To] // where it was going, and members may be
	}
	if l := w.Formed(); l != nil && l.Adopted && l.Downgrade == 0 && l.Version > world.MinorOf(w.Cluster.Spec.Version) {
		w.Cluster.Spec.Version = world.Newest[fmt.Sprintf("3.%d", l.Version)] // the members say so, who went on before anybody saw it
	}
	w.Cluster.Spec.ReadOnly = w.Cluster.Spec.ReadOnly && raft.HoldsFences(w) && world.MinorOf(w.Cluster.Spec.Version) >= world.Downgrades
	if w.Template == w.BadTemplate {
		w.Template++
	}
	w.BadTemplate, w.Nodes = 0, world.ResizeCarriedOut
	w.Rejecting, w.AuthOn, w.CutOff, w.NoNode, w.EtcdRefuses, w.Denied = false, false, false, false, false, ""
	for i := range w.Incarnations {
		for j := range w.Incarnations[i].Entries {
			e := &w.Incarnations[i].Entries[j]
			e.Down = e.Foreign && !e.Ran
		}
	}
	repairTLS(w)
	sayStopped(w, nil)
	ConsentToForeign(w)
	if slices.ContainsFunc(w.Volumes, func(v world.Volume) bool { return v.Data != nil && v.Data.Corrupt }) {
		annotate(w, v1beta2.AnnotationFence, "") // a fenced member is not replaced for that
	}
	for i := range w.Pods {
		p := &w.Pods[i]
		p.Unschedulable, p.Stuck, p.Broken, p.Hung = false, false, false, false
	}
	repairRestores(w)
	raft.Elect(w)
}

// repairRestores ends each restore that cannot end by itself.
func repairRestores(w *world.World) {
	for i := range w.Restores {
		r := &w.Restores[i]
		r.Deleted = r.Deleted || !r.Verified || r.Failed
		r.Promote = r.Follow // a person asks for it in the end
		r.Deleted = r.Deleted || r.Follow && r.Seed == world.FateNever
		if r.Seed == world.FateRetry {
			r.Seed = world.FateGood
		}
	}
}
