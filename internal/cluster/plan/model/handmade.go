package model

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A person changes the membership with etcdctl, or brings back an old status with an API backup.

// handFaults are added to all others in a world whose memberships are changed by hand.
var handFaults = []fault{addNeverStarted, addNeverStarted, removeByHand, promoteByHand, backUpStatus, backUpStatus, bringBackStatus, bringBackStatus, loseStatus, restartAll}

// AddNeverStarted adds a foreign member that never starts, as etcdctl member add does. It reports false if etcd refuses it.
func (w *World) AddNeverStarted(learner bool) bool {
	l := w.changeable()
	if l == nil || learner && slices.ContainsFunc(l.entries, func(e entry) bool { return e.learner }) {
		return false
	}
	w.write(l)
	w.nextID++
	l.entries = append(l.entries, entry{id: etcd.ID(w.nextID), name: fmt.Sprintf("guest-%d", w.nextID), learner: learner, foreign: true, down: true})
	w.elect()
	return true
}

func addNeverStarted(w *World, r *rand.Rand) string {
	l := w.formed()
	if l == nil || foreigners(l) >= maxForeign {
		return ""
	}
	learner := r.IntN(3) == 0
	v := w.voters(l)
	if w.Gentle && (learner || v.Healthy < v.Total || v.Healthy < etcd.Quorum(v.Total+1)+1) || !w.AddNeverStarted(learner) {
		return ""
	}
	return fmt.Sprintf("add a member by hand that never starts, learner: %v", learner)
}

// removeByHand removes a member of the operator with etcdctl.
func removeByHand(w *World, r *rand.Rand) string {
	l := w.changeable()
	if l == nil || len(l.entries) == 0 {
		return ""
	}
	e := l.entries[r.IntN(len(l.entries))]
	if e.foreign || len(l.entries) == 1 || !w.spare(e.name) || w.remove(l, e.id) != nil {
		return ""
	}
	return "remove " + e.name + " by hand"
}

// promoteByHand promotes a learner of the operator with etcdctl.
func promoteByHand(w *World, _ *rand.Rand) string {
	l := w.changeable()
	if l == nil {
		return ""
	}
	for _, e := range l.entries {
		if e.learner && !e.foreign && w.promote(l, e.id) == nil {
			return "promote " + e.name + " by hand"
		}
	}
	return ""
}

// misrecorded says whether an old record that a person brought back names other volumes than members have. The operator cannot tell them
// from copies, and asks.
func (w *World) misrecorded(l *life) bool {
	return w.backup != nil && slices.ContainsFunc(l.entries, func(e entry) bool {
		v, recorded := w.volume(e.name), w.recorded(e.name)
		return v != nil && recorded.Claim != "" && recorded != volumeID(v)
	})
}

// backUpStatus saves the status with an API backup.
func backUpStatus(w *World, _ *rand.Rand) string {
	w.backup = w.Cluster.Status.DeepCopy()
	return "back up the status"
}

// bringBackStatus brings back the record of the members and of a recovery as it was, if nothing else of the status has changed since.
func bringBackStatus(w *World, _ *rand.Rand) string {
	now, was := &w.Cluster.Status, w.backup
	if was == nil || now.ClusterID == "" || was.ClusterID != now.ClusterID || was.Incarnation != now.Incarnation ||
		!equality.Semantic.DeepEqual(was.Restore, now.Restore) {
		return ""
	}
	now.MemberStatuses, now.ForeignMembers = was.DeepCopy().MemberStatuses, was.DeepCopy().ForeignMembers
	now.Recovery = was.Recovery.DeepCopy()
	now.PromotingMember, now.RemovingMember = was.PromotingMember, was.RemovingMember
	return "bring back an old record of the members"
}

// LoseRecord loses what the status records of the members.
func (w *World) LoseRecord() {
	w.Cluster.Status.MemberStatuses, w.Cluster.Status.ForeignMembers = nil, nil
}

// restartAll restarts the containers of all members at once, in their Pods.
func restartAll(w *World, _ *rand.Rand) string {
	for i := range w.pods {
		if p := &w.pods[i]; p.state == state.PodRunning && !p.inPod {
			p.state = state.PodStarting
			w.unready(p)
		}
	}
	return "restart all containers"
}

// startsMute reports whether the etcd of a Pod that just started has no quorum.
func (w *World) startsMute(p *pod) bool {
	d := w.running(p)
	if !w.Handmade && w.TLS == nil || p.state != state.PodRunning || d == nil {
		return false
	}
	l := w.life(d.cluster)
	if w.TLS != nil {
		return l != nil && l.quorate
	}
	return l != nil && l.leader == 0 && l.quorate
}

// membershipChange is the membership from an index on.
type membershipChange struct {
	index   int
	members []etcd.Member
}

// logChange records a change of the membership, with the index of the write that it is.
func (l *life) logChange() {
	if n := len(l.changes); n > 0 && slices.EqualFunc(l.changes[n-1].members, l.entries, func(m etcd.Member, e entry) bool { return m.ID == e.id && m.Learner == e.learner }) {
		return
	}
	l.changes = append(l.changes, membershipChange{index: l.index, members: membershipOf(l)})
}

// appliedBy returns the membership that a member with this data has applied.
func (l *life) appliedBy(d *data) []etcd.Member {
	var applied []etcd.Member
	for i, change := range l.changes {
		if i == 0 || change.index <= d.index {
			applied = change.members
		}
	}
	return applied
}

// forget drops the changes after an index.
func (l *life) forget(index int) {
	l.changes = slices.DeleteFunc(l.changes, func(c membershipChange) bool { return c.index > index })
}

// SayStopped annotates the EtcdCluster with the foreign members that do not run.
func (w *World) SayStopped() { sayStopped(w, nil) }

// LoseAnyMember loses the last member that has a Pod and a volume, with both.
func (w *World) LoseAnyMember() {
	for i := len(w.pods) - 1; i >= 0; i-- {
		p := w.pods[i]
		if v := w.volume(p.name); v != nil && v.data != nil {
			w.pods = slices.Delete(w.pods, i, i+1)
			w.volumes = slices.DeleteFunc(w.volumes, func(v volume) bool { return v.name == p.name })
			w.elect()
			return
		}
	}
}

// mayKnowMore reports whether no member answers with the membership, and a volume has data of a member that the record does not name.
func (w *World) mayKnowMore(l *life) bool {
	s := w.Observe()
	return s.Witness == "" && slices.ContainsFunc(w.volumes, func(v volume) bool {
		return !v.aside && v.data != nil && v.data.cluster == l.id && !slices.Contains(s.KnownVoters, v.name)
	})
}
