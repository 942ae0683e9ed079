package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A person changes the membership with etcdctl, or brings back an old status with an API backup.

// handFaults are added to all others in a world whose memberships are changed by hand.
var handFaults = []fault{addNeverStarted, addNeverStarted, removeByHand, promoteByHand, backUpStatus, backUpStatus, bringBackStatus, bringBackStatus, loseStatus, restartAll}

// AddNeverStarted adds a foreign member that never starts, as etcdctl member add does. It reports false if etcd refuses it.
func AddNeverStarted(w *world.World, learner bool) bool {
	l := raft.Changeable(w)
	if l == nil || learner && slices.ContainsFunc(l.Entries, func(e world.Entry) bool { return e.Learner }) {
		return false
	}
	raft.Write(w, l)
	w.NextID++
	l.Entries = append(l.Entries, world.Entry{ID: etcd.ID(w.NextID), Name: fmt.Sprintf("guest-%d", w.NextID), Learner: learner, Foreign: true, Down: true})
	raft.Elect(w)
	return true
}

func addNeverStarted(w *world.World, r *rand.Rand) string {
	l := w.Formed()
	if l == nil || raft.Foreigners(l) >= maxForeign {
		return ""
	}
	learner := r.IntN(3) == 0
	v := raft.Voters(w, l)
	if w.Gentle && (learner || v.Healthy < v.Total || v.Healthy < etcd.Quorum(v.Total+1)+1) || !AddNeverStarted(w, learner) {
		return ""
	}
	return fmt.Sprintf("add a member by hand that never starts, learner: %v", learner)
}

// removeByHand removes a member of the operator with etcdctl.
func removeByHand(w *world.World, r *rand.Rand) string {
	l := raft.Changeable(w)
	if l == nil || len(l.Entries) == 0 {
		return ""
	}
	e := l.Entries[r.IntN(len(l.Entries))]
	if e.Foreign || len(l.Entries) == 1 || !spare(w, e.Name) || raft.Remove(w, l, e.ID) != nil {
		return ""
	}
	return "remove " + e.Name + " by hand"
}

// promoteByHand promotes a learner of the operator with etcdctl.
func promoteByHand(w *world.World, _ *rand.Rand) string {
	l := raft.Changeable(w)
	if l == nil {
		return ""
	}
	for _, e := range l.Entries {
		if e.Learner && !e.Foreign && raft.Promote(w, l, e.ID) == nil {
			return "promote " + e.Name + " by hand"
		}
	}
	return ""
}
