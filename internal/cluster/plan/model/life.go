package model

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// life is one etcd cluster: what all its members agree on.
type life struct {
	id          etcd.ID
	incarnation int32
	entries     []entry
	leader      etcd.ID
	// index of the last write that was acknowledged to a client; revision where it began.
	index    int
	revision int64
	// quorate: it had a quorum once. adopted: the cluster was this life once.
	quorate, adopted bool
	// restore is the UID of the EtcdRestore that made it.
	restore types.UID
	// consented: a survivor was chosen to go on alone. forced is the one that last did.
	consented bool
	forced    etcd.ID
	// version is the minor version of the cluster, and downgrade the one that it is to go down to, 0 for none.
	// changedAt and loweredAt are the index when it last changed, and last went down; lastV2 is up to where the raft
	// log may hold what etcd before 3.6 wrote.
	version, downgrade, changedAt, loweredAt, lastV2 int
	// motley: its members were born with several versions, because the user changed it meanwhile.
	motley bool
	// noSpace is the member that the alarm was raised for, 0 for none, and fullAt the index from which on nothing is
	// written but by etcd itself.
	noSpace etcd.ID
	fullAt  int
	// fences are on: it acknowledges no write.
	fences []etcd.ID
	// accused is the member that etcd says is corrupt, 0 for none; with nobody it does not say who.
	accused etcd.ID
	nobody  bool
	// changes of the membership, oldest first.
	changes []membershipChange
	// cooling is how long it refuses changes, as etcd does after one.
	cooling int
}

// entry of a membership.
type entry struct {
	id      etcd.ID
	name    string
	learner bool
	// started: client URLs are published. caughtUp: a learner may be promoted.
	started, caughtUp bool
	// foreign: a person added it. down: it does not run.
	foreign, down bool
	// ran: a process ran under this identity, and may have voted.
	ran bool
}

func (w *World) life(id etcd.ID) *life {
	for i := range w.incarnations {
		if w.incarnations[i].id == id {
			return &w.incarnations[i]
		}
	}
	return nil
}

// lifeOf an incarnation: the newest, for a seed may be restored more than once.
func (w *World) lifeOf(incarnation int32) *life {
	for i := len(w.incarnations) - 1; i >= 0; i-- {
		if w.incarnations[i].incarnation == incarnation {
			return &w.incarnations[i]
		}
	}
	return nil
}

// formed is the life that the operator has recorded, nil before.
func (w *World) formed() *life {
	recorded := w.Cluster.Status.ClusterID
	if recorded == "" {
		recorded = w.Services.ClientClusterID
	}
	for i := range w.incarnations {
		if w.incarnations[i].id.String() == recorded {
			return &w.incarnations[i]
		}
	}
	return nil
}

func (l *life) entry(name string) *entry {
	for i := range l.entries {
		if l.entries[i].name == name {
			return &l.entries[i]
		}
	}
	return nil
}

func (l *life) byID(id etcd.ID) *entry {
	for i := range l.entries {
		if l.entries[i].id == id {
			return &l.entries[i]
		}
	}
	return nil
}

// up says whether a member's process runs on its data, and reaches the leader. Without a leader, it must reach the voter that most others reach.
func (w *World) up(l *life, e *entry) bool {
	if w.TLS == nil || !w.runs(l, e) {
		return w.runs(l, e)
	}
	hub := w.hub(l)
	return hub != nil && w.joined(hub, e)
}

// runs says whether a member's process runs on its data.
func (w *World) runs(l *life, e *entry) bool {
	if e.foreign {
		return !e.down && e.ran
	}
	p := w.pod(e.name)
	if p == nil || p.state != state.PodRunning && !p.cutOff || p.hung {
		return false
	}
	d := w.running(p)
	return d != nil && d.cluster == l.id && d.member == e.id
}

// running is the data that a Pod's process has open.
func (w *World) running(p *pod) *data {
	if p.inPod {
		return p.scratch
	}
	if v := w.volume(p.name); v != nil {
		return v.data
	}
	return nil
}

// ownVoters are the voters that the operator added.
func (w *World) ownVoters(l *life) etcd.Voters {
	var v etcd.Voters
	for i := range l.entries {
		if e := &l.entries[i]; !e.learner && !e.foreign {
			v.Total++
			if w.up(l, e) {
				v.Healthy++
			}
		}
	}
	return v
}

// voters of a life, and how many of them are up.
func (w *World) voters(l *life) etcd.Voters {
	var v etcd.Voters
	for i := range l.entries {
		if l.entries[i].learner {
			continue
		}
		v.Total++
		if w.up(l, &l.entries[i]) {
			v.Healthy++
		}
	}
	return v
}
