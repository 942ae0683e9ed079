package effects

import (
	"slices"
	"strconv"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// start makes the data directory of a member that has none.
func start(w *world.World, p *world.Pod) (d *world.Data, wrong string) {
	if p.Guarded {
		return nil, world.WithoutData
	}
	l := w.LifeOf(p.Incarnation)
	switch p.Start {
	case state.StartNew:
		return startNew(w, l, p)
	case state.StartSeed:
		return startSeed(w, p)
	case state.StartJoin:
		return startJoin(w, l, p)
	}
	return nil, world.WithoutData
}

func startNew(w *world.World, l *world.Life, p *world.Pod) (*world.Data, string) {
	if l == nil || startsAnew(w, l, p) {
		if w.Formed() != nil {
			w.Violate(world.OneIdentityOneHistory, "%s bootstraps a second cluster", p.Name)
		}
		w.Incarnations = append(w.Incarnations, world.Life{ID: lifeID(w, p.Incarnation), Incarnation: p.Incarnation, Version: world.MinorOf(p.Version)})
		l = &w.Incarnations[len(w.Incarnations)-1]
		for _, name := range p.Peers {
			w.NextID++
			l.Entries = append(l.Entries, world.Entry{ID: etcd.ID(w.NextID), Name: name})
		}
	}
	e := l.Entry(p.Name)
	switch {
	case e == nil:
		return nil, "the member was removed"
	case e.Ran && !p.InPod:
		w.Violate(world.OneIdentityOneHistory, "%s starts again under its old identity without its data", p.Name)
	case e.Ran:
		return nil, "the member has already been bootstrapped"
	}
	e.Ran = true
	return &world.Data{Cluster: l.ID, Member: e.ID, Storage: l.Version}, ""
}

// startsAnew says whether nobody has data of a life that never formed and p is to form one of other members: to etcd
// that is another cluster, with another ID.
func startsAnew(w *world.World, l *world.Life, p *world.Pod) bool {
	if w.Durable() || w.Formed() != nil || slices.ContainsFunc(w.Pods, func(p world.Pod) bool { return p.Scratch != nil && p.Scratch.Cluster == l.ID }) {
		return false
	}
	return len(p.Peers) != len(l.Entries) || slices.ContainsFunc(l.Entries, func(e world.Entry) bool { return !slices.Contains(p.Peers, e.Name) })
}

// startJoin asks the members that are up for the membership, and compares it with its own flags.
func startJoin(w *world.World, l *world.Life, p *world.Pod) (*world.Data, string) {
	if l == nil || !slices.ContainsFunc(l.Entries, func(e world.Entry) bool { return raft.Admits(w, l, &e, p) }) {
		return nil, "no member to join answers"
	}
	e := l.Entry(p.Name)
	if e == nil {
		return nil, "not a member of the cluster"
	}
	if l.Downgrade != 0 {
		return nil, "incompatible with the cluster, which is being downgraded"
	}
	if n := world.MinorOf(p.Version); !w.StatusLost && !l.Motley && !p.Stale && (n < l.Version || n > l.Version+1) {
		w.Violate(world.DataIsReadable, "%s joins a cluster of 3.%d with %s", p.Name, l.Version, p.Version)
	}
	if len(p.Peers) != len(l.Entries) || slices.ContainsFunc(l.Entries, func(e world.Entry) bool { return !slices.Contains(p.Peers, e.PeerName()) }) {
		return nil, "the membership is not that of --initial-cluster"
	}
	if e.Ran && !e.Learner {
		w.Violate(world.OneIdentityOneHistory, "%s joins again under its old identity without its data", p.Name)
	}
	checkReadable(w, l, p)
	e.Ran, e.CaughtUp = true, false
	joined := &world.Data{Cluster: l.ID, Member: e.ID, Storage: l.Version}
	if led := l.ByID(l.Leader); led != nil {
		from := w.DataOf(led.Name)
		joined.File, joined.Used, joined.Keys, joined.Tainted = from.File, from.Used, from.Keys, from.Tainted
		joined.Told = from.Told
		if from.Snapshot > 0 {
			joined.Snapshot = l.Index // the leader's log begins there
		}
	}
	return joined, ""
}

// startSeed restores the snapshot of the restore that the Pod was made for.
func startSeed(w *world.World, p *world.Pod) (*world.Data, string) {
	for _, r := range w.Restores {
		if r.UID != p.Restore {
			continue
		}
		switch r.Seed {
		case world.FateRetry:
			p.Failures++
			return nil, "the store does not answer"
		case world.FateNever:
			p.Hopeless = true
			return nil, "the object does not exist"
		}
		revision := r.Revision - 1
		if r.Seed != world.FateTooOld {
			revision = r.Revision + p.Bump
		}
		w.NextID++
		e := world.Entry{ID: etcd.ID(w.NextID), Name: p.Name, Ran: true}
		id := lifeID(w, p.Incarnation)
		w.Incarnations = slices.DeleteFunc(w.Incarnations, func(l world.Life) bool { return l.Incarnation == p.Incarnation })
		w.Incarnations = append(w.Incarnations, world.Life{ID: id, Incarnation: p.Incarnation, Entries: []world.Entry{e}, FirstRevision: revision, Restore: r.UID, Version: world.MinorOf(p.Version)})
		return &world.Data{Cluster: id, Member: e.ID, Storage: world.MinorOf(p.Version)}, ""
	}
	return nil, "no snapshot to restore"
}

// lifeID of an incarnation: its token makes it, so that a seed that is restored again has the same.
func lifeID(w *world.World, incarnation int32) etcd.ID {
	if l := w.LifeOf(incarnation); l != nil {
		return l.ID
	}
	if r := w.Cluster.Status.Restore; r != nil && r.Incarnation == incarnation {
		if id, err := strconv.ParseUint(r.ClusterID, 16, 64); err == nil {
			return etcd.ID(id)
		}
	}
	return etcd.ID(0xc0de0000 + int(incarnation))
}

// checkReadable: what a member is sent that joins. A leader that has taken a raft snapshot sends that; else all that
// its log holds.
func checkReadable(w *world.World, l *world.Life, p *world.Pod) {
	led := l.ByID(l.Leader)
	if led == nil || p.Stale || w.StatusLost || l.Motley || world.MinorOf(p.Version) < world.ReadsNoV2 {
		return
	}
	if from := w.DataOf(led.Name); l.LastV2 > 0 && from.Snapshot < l.LastV2 {
		w.Violate(world.DataIsReadable, "%s joins with version %s, which cannot read the log that it is sent", p.Name, p.Version)
	}
}
