package model

import (
	"slices"
	"strconv"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Tick lets a second go by: what is under way gets one step further. It says whether anything did. Where nothing
// did, time flies.
func (w *World) Tick() (moved bool) {
	moved = w.Second()
	if !moved {
		w.now += 149
	}
	return moved
}

// Second lets a second go by, also if nothing moves in it.
func (w *World) Second() (moved bool) {
	w.now++
	for i := 0; i < len(w.pods); i++ {
		before, ended, later := w.pods[i].state, w.pods[i].ended, w.TLS != nil && w.mountsLater(&w.pods[i])
		moved = w.tickResize(&w.pods[i]) || moved
		gone := w.tickPod(&w.pods[i])
		if gone {
			w.pods = slices.Delete(w.pods, i, i+1)
			i--
		}
		moved = moved || gone || w.pods[i].state != before || w.pods[i].ended != ended || later
	}
	w.volumes = slices.DeleteFunc(w.volumes, func(v volume) bool {
		p := w.pod(v.name)
		gone := v.deleting && (p == nil || !p.placed)
		moved = moved || gone
		return gone
	})
	moved = w.tickVolumes() || moved
	moved = w.saveExactly() || moved
	moved = w.elect() || moved
	for i := range w.incarnations {
		moved = w.tickLife(&w.incarnations[i]) || moved
	}
	return moved
}

// tickPod says whether the Pod is gone.
func (w *World) tickPod(p *pod) bool {
	if w.pick(2) == 1 {
		return false // not this time
	}
	switch p.state {
	case state.PodDeleting:
		gone := p.ended
		p.ended = !p.stuck // the object goes some time after the containers
		return gone
	case state.PodStarting, state.PodBlocked:
		if w.Rejecting && !p.placed {
			p.state, p.reason, p.wrong = state.PodEnded, v1beta2.ReasonPodFailing, "OutOfcpu: the node has no room"
			return false
		}
		if p.waits && p.addressSince > 0 || w.TLS != nil && w.TLS.missing {
			return false // until it is released, or its Secrets exist
		}
		p.state, p.reason, p.wrong = state.PodRunning, "", ""
		if reason, wrong := w.boot(p); reason != "" {
			p.state, p.reason, p.wrong = state.PodBlocked, reason, wrong
		}
		if p.state == state.PodRunning && w.running(p) == nil {
			p.state = state.PodStarting
		}
		p.mute = w.startsMute(p)
		w.begin(p)
	case state.PodRunning:
		if d := w.running(p); d == nil || w.life(d.cluster).byID(d.member) == nil {
			p.state, p.reason, p.wrong = state.PodBlocked, v1beta2.ReasonPodFailing, "the member was removed"
			w.unready(p)
		}
		w.kubeletMounts(p)
	}
	return false
}

// boot brings a Pod's etcd up, or says why it cannot.
func (w *World) boot(p *pod) (reason, wrong string) {
	v := w.volume(p.name)
	if wrong := w.unplaceable(p, v); wrong != "" {
		return v1beta2.ReasonPodUnschedulable, wrong
	}
	p.placed = true
	if p.addressSince == 0 {
		p.addressSince = w.now
	}
	if p.waits {
		return "", ""
	}
	switch {
	case p.broken:
		return v1beta2.ReasonPodFailing, "container etcd ended 7 times"
	case w.badTemplate != 0 && p.template == w.badTemplate:
		return v1beta2.ReasonPodFailing, "it cannot start as it is asked for"
	case !p.inPod && v.full:
		return v1beta2.ReasonPodFailing, noSpaceLeft
	case w.BadImage != "" && p.version == w.BadImage:
		return v1beta2.ReasonImageUnavailable, "no such image"
	}
	if d := w.running(p); d != nil {
		return w.bootOn(p, d)
	}
	d, wrong := w.start(p)
	switch {
	case wrong != "":
		return v1beta2.ReasonPodFailing, wrong
	case !p.inPod:
		v.data = d
	default:
		p.scratch = d
	}
	return "", ""
}

// unplaceable returns why a Pod has no node.
func (w *World) unplaceable(p *pod, v *volume) string {
	switch {
	case p.unschedulable && !p.placed:
		return "no node fits"
	case p.inPod:
	case v == nil:
		return "its volume is not there"
	case v.lost:
		return "its PersistentVolume does not exist"
	case v.deleting && !p.placed:
		return "its volume is being deleted"
	}
	return ""
}

// bootOn brings a Pod's etcd up on data that is there.
func (w *World) bootOn(p *pod, d *data) (reason, wrong string) {
	switch {
	case d.corrupt:
		return v1beta2.ReasonPodFailing, "its data is corrupt"
	case p.start == state.StartForce:
		w.force(p, d)
	case w.life(d.cluster).byID(d.member) == nil:
		return v1beta2.ReasonPodFailing, "the member was removed"
	}
	w.checkCopy(p, d)
	if why := w.unreadable(p, d); why != "" {
		if !p.stale {
			w.violate(DataIsReadable, "%s is started on %s: %s", p.name, p.version, why)
		}
		return v1beta2.ReasonPodFailing, why
	}
	return "", ""
}

// withoutData is why a member that has started does not start on an empty volume.
const withoutData = "it refuses to start without its data"

// start makes the data directory of a member that has none.
func (w *World) start(p *pod) (d *data, wrong string) {
	if p.guarded {
		return nil, withoutData
	}
	l := w.lifeOf(p.incarnation)
	switch p.start {
	case state.StartNew:
		return w.startNew(l, p)
	case state.StartSeed:
		return w.startSeed(p)
	case state.StartJoin:
		return w.startJoin(l, p)
	}
	return nil, withoutData
}

func (w *World) startNew(l *life, p *pod) (*data, string) {
	if l == nil || w.startsAnew(l, p) {
		if w.formed() != nil {
			w.violate(OneIdentityOneHistory, "%s bootstraps a second cluster", p.name)
		}
		w.incarnations = append(w.incarnations, life{id: w.lifeID(p.incarnation), incarnation: p.incarnation, version: minorOf(p.version)})
		l = &w.incarnations[len(w.incarnations)-1]
		for _, name := range p.peers {
			w.nextID++
			l.entries = append(l.entries, entry{id: etcd.ID(w.nextID), name: name})
		}
	}
	e := l.entry(p.name)
	switch {
	case e == nil:
		return nil, "the member was removed"
	case e.ran && !p.inPod:
		w.violate(OneIdentityOneHistory, "%s starts again under its old identity without its data", p.name)
	case e.ran:
		return nil, "the member has already been bootstrapped"
	}
	e.ran = true
	return &data{cluster: l.id, member: e.id, storage: l.version}, ""
}

// startsAnew says whether nobody has data of a life that never formed and p is to form one of other members: to etcd
// that is another cluster, with another ID.
func (w *World) startsAnew(l *life, p *pod) bool {
	if w.durable() || w.formed() != nil || slices.ContainsFunc(w.pods, func(p pod) bool { return p.scratch != nil && p.scratch.cluster == l.id }) {
		return false
	}
	return len(p.peers) != len(l.entries) || slices.ContainsFunc(l.entries, func(e entry) bool { return !slices.Contains(p.peers, e.name) })
}

// startJoin asks the members that are up for the membership, and compares it with its own flags.
func (w *World) startJoin(l *life, p *pod) (*data, string) {
	if l == nil || !slices.ContainsFunc(l.entries, func(e entry) bool { return w.admits(l, &e, p) }) {
		return nil, "no member to join answers"
	}
	e := l.entry(p.name)
	if e == nil {
		return nil, "not a member of the cluster"
	}
	if l.downgrade != 0 {
		return nil, "incompatible with the cluster, which is being downgraded"
	}
	if n := minorOf(p.version); !w.statusLost && !l.motley && !p.stale && (n < l.version || n > l.version+1) {
		w.violate(DataIsReadable, "%s joins a cluster of 3.%d with %s", p.name, l.version, p.version)
	}
	if len(p.peers) != len(l.entries) || slices.ContainsFunc(l.entries, func(e entry) bool { return !slices.Contains(p.peers, e.peerName()) }) {
		return nil, "the membership is not that of --initial-cluster"
	}
	if e.ran && !e.learner {
		w.violate(OneIdentityOneHistory, "%s joins again under its old identity without its data", p.name)
	}
	w.checkReadable(l, p)
	e.ran, e.caughtUp = true, false
	joined := &data{cluster: l.id, member: e.id, storage: l.version}
	if led := l.byID(l.leader); led != nil {
		from := w.dataOf(led.name)
		joined.file, joined.used, joined.keys, joined.tainted = from.file, from.used, from.keys, from.tainted
		joined.told = from.told
		if from.snapshot > 0 {
			joined.snapshot = l.index // the leader's log begins there
		}
	}
	return joined, ""
}

// startSeed restores the snapshot of the restore that the Pod was made for.
func (w *World) startSeed(p *pod) (*data, string) {
	for _, r := range w.Restores {
		if r.UID != p.restore {
			continue
		}
		switch r.Seed {
		case FateRetry:
			p.failures++
			return nil, "the store does not answer"
		case FateNever:
			p.hopeless = true
			return nil, "the object does not exist"
		}
		revision := r.Revision - 1
		if r.Seed != FateTooOld {
			revision = r.Revision + p.bump
		}
		w.nextID++
		e := entry{id: etcd.ID(w.nextID), name: p.name, ran: true}
		id := w.lifeID(p.incarnation)
		w.incarnations = slices.DeleteFunc(w.incarnations, func(l life) bool { return l.incarnation == p.incarnation })
		w.incarnations = append(w.incarnations, life{id: id, incarnation: p.incarnation, entries: []entry{e}, revision: revision, restore: r.UID, version: minorOf(p.version)})
		return &data{cluster: id, member: e.id, storage: minorOf(p.version)}, ""
	}
	return nil, "no snapshot to restore"
}

// lifeID of an incarnation: its token makes it, so that a seed that is restored again has the same.
func (w *World) lifeID(incarnation int32) etcd.ID {
	if l := w.lifeOf(incarnation); l != nil {
		return l.id
	}
	if r := w.Cluster.Status.Restore; r != nil && r.Incarnation == incarnation {
		if id, err := strconv.ParseUint(r.ClusterID, 16, 64); err == nil {
			return etcd.ID(id)
		}
	}
	return etcd.ID(0xc0de0000 + int(incarnation))
}
