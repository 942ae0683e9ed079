package model

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// fault is one thing that users, hosts and clouds do to a cluster. It says what it did, or nothing.
type fault func(*World, *rand.Rand) string

// faults, each as likely as the others.
var faults = []fault{
	deletePod, deletePod, deleteVolume, loseMember, unschedulable, schedulable, evict, crash, hang, restart, restart, restart, loseHost,
	resize, resize, newVersion, newTemplate, newLabels, badTemplate, badImage, goodImage, newRestore, verifyRestore, verifyRestore, deleteRestore, changeFate,
	SaysCorrupt, consent, loseStatus, loseServices, toggleStorageClass, toggleSecret, togglePause, newLeader, drain, drain, drain, toggleHibernate, toggleHibernate, toggleRetention, growVolumes,
	toggleRejecting, doToForeign, doToForeign, askAbout, toggleReadOnly, toggleReadOnly,
}

// Inflict does the fault of this number, and reports false if there is none.
func (w *World) Inflict(number int, r *rand.Rand) (said string, ok bool) {
	if number >= len(faults) {
		return "", false
	}
	said = faults[number](w, r)
	w.elect()
	return said, true
}

// Chance lets chance into the world: what is under way takes its time, and writes reach some members later.
func (w *World) Chance(r *rand.Rand) { w.choose = r.IntN }

// Fault does one random thing to the world and says what.
func (w *World) Fault(r *rand.Rand) string {
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
	w.elect()
	return said
}

// spare says whether the data of a member may be lost without loss of quorum, while all others are well: which of
// two that are not is the better one to keep, nobody can know. In a world that is not gentle it always may.
func (w *World) spare(name string) bool {
	for i := range w.incarnations {
		l := &w.incarnations[i]
		if e := l.entry(name); !w.Gentle || e == nil {
			continue
		}
		if v := w.voters(l); v.Healthy < v.Total {
			return false
		}
		safe := etcd.Voters{}
		for _, e := range l.entries {
			if !e.learner || e.name == name { // a learner may have its vote any moment
				safe.Total++
				if e.name != name && w.safe(l, e) {
					safe.Healthy++
				}
			}
		}
		if !safe.HasQuorum() {
			return false
		}
	}
	return true
}

// losing says whether a volume is about to go with its Pod.
func (w *World) losing() bool {
	return slices.ContainsFunc(w.volumes, func(v volume) bool { return v.deleting || v.lost })
}

// safe says whether a member has data that is not about to go.
func (w *World) safe(l *life, e entry) bool {
	d := w.dataOf(e.name)
	if e.foreign {
		return !e.down
	}
	if d == nil || d.cluster != l.id || d.member != e.id || d.corrupt || d.copied {
		return false
	}
	if p := w.pod(e.name); p != nil && p.inPod {
		return p.state != state.PodDeleting && p.state != state.PodEnded
	}
	return !w.volume(e.name).deleting && !w.volume(e.name).lost
}

func (w *World) anyPod(r *rand.Rand) *pod {
	if len(w.pods) == 0 {
		return nil
	}
	return &w.pods[r.IntN(len(w.pods))]
}

// onPod does something to a random Pod. If do stops a Pod that has ended, p is another Pod afterwards.
func onPod(what string, do func(*World, *pod)) fault {
	return func(w *World, r *rand.Rand) string {
		p := w.anyPod(r)
		if p == nil || (p.inPod && !w.spare(p.name)) || (w.Gentle && w.losing()) {
			return ""
		}
		name := p.name
		do(w, p)
		return what + " " + name
	}
}

var (
	deletePod     = onPod("delete Pod", func(w *World, p *pod) { w.stop(p.name) })
	unschedulable = onPod("no node for", func(_ *World, p *pod) {
		if p.state == state.PodStarting {
			p.unschedulable = true
		}
	})
	schedulable = onPod("a node for", func(_ *World, p *pod) { p.unschedulable = false })
	evict       = onPod("evict", func(w *World, p *pod) {
		if p.state == state.PodRunning || p.state == state.PodStarting {
			p.state, p.reason, p.wrong = state.PodEnded, v1beta2.ReasonPodFailing, "Evicted"
			p.scratch = nil
			w.unready(p)
		}
	})
	crash = onPod("crash", func(w *World, p *pod) {
		if p.state == state.PodRunning {
			p.state, p.broken = state.PodStarting, true
			w.unready(p)
		}
	})
	hang     = onPod("hang", func(_ *World, p *pod) { p.hung = true })
	restart  = onPod("recover", func(_ *World, p *pod) { p.hung, p.broken, p.stuck = false, false, false })
	loseHost = onPod("lose the node of", func(w *World, p *pod) {
		name := p.name
		w.stop(name)
		if left := w.pod(name); left != nil {
			left.stuck = true
		}
	})
)

func deleteVolume(w *World, r *rand.Rand) string {
	if len(w.volumes) == 0 {
		return ""
	}
	v := &w.volumes[r.IntN(len(w.volumes))]
	if !w.spare(v.name) {
		return ""
	}
	v.deleting = true
	return "delete volume " + v.name
}

// loseMember deletes a Pod and its volume at once.
func loseMember(w *World, r *rand.Rand) string {
	p := w.anyPod(r)
	if p == nil || !w.spare(p.name) {
		return ""
	}
	name := p.name // a Pod that has ended is deleted at once, and p is another one then
	w.stop(name)
	if v := w.volume(name); v != nil {
		v.deleting = true
	}
	return "lose " + name
}

// moveToVolumes removes spec.pod.emptyDir, so that members on volumes replace those with their data in their Pods.
func moveToVolumes(w *World, _ *rand.Rand) string {
	if w.durable() || w.formed() == nil {
		return ""
	}
	w.Cluster.Spec.Pod.EmptyDir = nil
	w.template++
	return "data onto volumes"
}

func resize(w *World, r *rand.Rand) string {
	w.Cluster.Spec.Size = 1 + r.IntN(7)
	return fmt.Sprintf("size %d", w.Cluster.Spec.Size)
}

func newVersion(w *World, r *rand.Rand) string {
	versions := []string{version, version, "3.6.15", "3.6.17", "3.5.20", "3.5.35", "3.7.3", "3.7.3", "3.8.0"}
	w.Cluster.Spec.Version = versions[r.IntN(len(versions))]
	return "version " + w.Cluster.Spec.Version
}

func newTemplate(w *World, _ *rand.Rand) string {
	w.template++
	return fmt.Sprintf("template %d", w.template)
}

// badTemplate asks for Pods that cannot start.
func badTemplate(w *World, _ *rand.Rand) string {
	w.template++
	w.badTemplate = w.template
	return fmt.Sprintf("bad template %d", w.template)
}

func newLabels(w *World, _ *rand.Rand) string {
	w.labels++
	return fmt.Sprintf("labels %d", w.labels)
}

func badImage(w *World, _ *rand.Rand) string {
	w.BadImage = w.Cluster.Spec.Version
	return "no image " + w.BadImage
}

func goodImage(w *World, _ *rand.Rand) string {
	w.BadImage = ""
	return "all images"
}

func newRestore(w *World, r *rand.Rand) string {
	w.nextID++
	restore := Restore{UID: types.UID(fmt.Sprintf("restore-%d", w.nextID)), Revision: 1000, Seed: Fate(r.IntN(5) % 4), Exact: r.IntN(4) == 0, Saver: Saver(r.IntN(5) % 3)}
	w.Restores = append(w.Restores, restore)
	return fmt.Sprintf("new EtcdRestore %s, fate %d, exact: %t", restore.UID, restore.Seed, restore.Exact)
}

// onRestore does something to a random EtcdRestore.
func onRestore(w *World, r *rand.Rand, do func(*Restore) string) string {
	if len(w.Restores) == 0 {
		return ""
	}
	restore := &w.Restores[r.IntN(len(w.Restores))]
	return do(restore) + " " + string(restore.UID)
}

func verifyRestore(w *World, r *rand.Rand) string {
	return onRestore(w, r, func(restore *Restore) string {
		restore.Verified = true
		return "verify"
	})
}

func deleteRestore(w *World, r *rand.Rand) string {
	return onRestore(w, r, func(restore *Restore) string {
		restore.Deleted = true
		return "delete"
	})
}

func changeFate(w *World, r *rand.Rand) string {
	return onRestore(w, r, func(restore *Restore) string {
		restore.Seed = Fate(r.IntN(4))
		return fmt.Sprintf("fate %d of", restore.Seed)
	})
}

// loseStatus loses what the operator wrote. The client Service remembers the cluster's ID; losing both at once is
// more than one fault, and so is losing it between two lives that have no volumes, or before the cluster has formed.
func loseStatus(w *World, _ *rand.Rand) string {
	if w.Services.ClientClusterID != w.Cluster.Status.ClusterID || w.formed() == nil || w.betweenLives() || w.copiedVolume() {
		return ""
	}
	w.Cluster.Status = v1beta2.EtcdClusterStatus{ObservedGeneration: -1}
	w.statusLost = true
	return "lose the status"
}

// betweenLives says whether a restore is recorded, and the members that it replaces have no volumes, or lost the quorum that
// they had without them.
func (w *World) betweenLives() bool {
	restore := w.Cluster.Status.Restore
	switch {
	case restore == nil:
		return false
	case !w.durable():
		return true
	}
	return w.Moving && restore.Step == v1beta2.RestoreSwitching && !w.safeQuorum(w.formed())
}

// safeQuorum says whether enough voters have data that is not about to go.
func (w *World) safeQuorum(l *life) bool {
	v := etcd.Voters{}
	for _, e := range l.entries {
		if !e.learner {
			v.Total++
			if w.safe(l, e) {
				v.Healthy++
			}
		}
	}
	return v.HasQuorum()
}

func loseServices(w *World, _ *rand.Rand) string {
	if w.Cluster.Status.ClusterID != w.Services.ClientClusterID {
		return ""
	}
	w.Services = state.Services{}
	return "lose the Services"
}

// SaysCorrupt spoils the data of a member, which ends when it reads it next. A seed is left alone: it was restored just now.
func SaysCorrupt(w *World, r *rand.Rand) string {
	p := w.anyPod(r)
	if p == nil || p.inPod || !w.spare(p.name) || (w.Gentle && w.losing()) {
		return ""
	}
	d := w.running(p)
	if d == nil || p.state == state.PodDeleting || !w.life(d.cluster).adopted {
		return ""
	}
	d.corrupt = true
	if p.state == state.PodRunning {
		p.state = state.PodStarting
		w.unready(p)
	}
	return "corrupt the data of " + p.name
}

// consent gives the consent to go on from one survivor, or takes it back.
func consent(w *World, _ *rand.Rand) string {
	if w.Cluster.Spec.Recovery == nil && w.durable() {
		w.Cluster.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
		return "consent"
	}
	w.Cluster.Spec.Recovery = nil
	return "no consent"
}

func toggleStorageClass(w *World, _ *rand.Rand) string {
	w.NoStorageClass = !w.NoStorageClass
	return fmt.Sprintf("no StorageClass: %v", w.NoStorageClass)
}

func toggleSecret(w *World, _ *rand.Rand) string {
	if w.SecretProblem == "" {
		w.SecretProblem = "Secret x is not there"
	} else {
		w.SecretProblem = ""
	}
	return "Secret: " + w.SecretProblem
}

// toggleRejecting has kubelets reject every new Pod, or accept it again.
func toggleRejecting(w *World, _ *rand.Rand) string {
	w.Rejecting = !w.Rejecting
	return fmt.Sprintf("kubelets reject Pods: %v", w.Rejecting)
}

func togglePause(w *World, _ *rand.Rand) string {
	w.Cluster.Spec.Paused = !w.Cluster.Spec.Paused
	return fmt.Sprintf("paused: %v", w.Cluster.Spec.Paused)
}

func newLeader(w *World, r *rand.Rand) string {
	if len(w.incarnations) == 0 {
		return ""
	}
	l := &w.incarnations[r.IntN(len(w.incarnations))]
	for i := range l.entries {
		e := &l.entries[i]
		if l.leader != 0 && !e.learner && w.up(l, e) && w.dataOf(e.name).index == l.index && r.IntN(2) == 0 {
			l.leader = e.id
			return "new leader " + e.name
		}
	}
	return ""
}
