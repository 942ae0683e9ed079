package check

import (
	"maps"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func checkAdd(w *world.World, l *world.Life, step steps.AddLearner) {
	checkQuorum(w, l, "a member is added")
	if l == nil {
		return
	}
	if d := w.DataOf(step.Name); d != nil {
		w.Violate(world.OneIdentityOneHistory, "%s is added with data of an earlier member", step.Name)
	}
	if p := w.Pod(step.Name); p != nil && p.Waits && p.AddressSince == 0 {
		w.Violate(world.QuorumIsKept, "%s is added, and its name does not resolve", step.Name)
	}
	for _, e := range l.Entries {
		if e.Learner {
			w.Violate(world.OneChangeAtATime, "%s is added while %s is", step.Name, e.Name)
		}
	}
}

func checkRemove(w *world.World, l *world.Life, step steps.RemoveMember) {
	checkQuorum(w, l, "a member is removed")
	if l == nil {
		return
	}
	e := l.ByID(step.ID)
	if e != nil && e.Foreign {
		checkForeign(w, e)
	}
	if e == nil || e.Learner {
		return
	}
	for _, other := range l.Entries {
		if other.Learner {
			w.Violate(world.OneChangeAtATime, "%s is removed while %s is added", e.Name, other.Name)
		}
	}
	if !e.Foreign {
		checkConvicted(w, l, e, step)
		checkReplaced(w, l, e)
	}
	if !raft.Voters(w, l).KeepsQuorumWithout(raft.Up(w, l, e)) {
		w.Violate(world.QuorumIsKept, "removing %s takes quorum", e.Name)
	}
	checkLeader(w, l, e)
}

// checkReplaced: a member that serves, with the right data, goes after another has taken its place.
func checkReplaced(w *world.World, l *world.Life, e *world.Entry) {
	if v := raft.Voters(w, l); raft.Up(w, l, e) && !observe.Hidden(w, e) && l.Accused == 0 && v.Total <= w.Cluster.Spec.Size {
		w.Violate(world.DataIsKept, "%s serves and is removed before its replacement votes: %d voters, and the spec asks for %d", e.Name, v.Total, w.Cluster.Spec.Size)
	}
}

// checkConvicted: who is removed for its data has other data than the rest.
func checkConvicted(w *world.World, l *world.Life, e *world.Entry, step steps.RemoveMember) {
	d := w.DataOf(e.Name)
	if l.Accused == 0 || d == nil || d.Tainted || d.Corrupt || d.Member != e.ID || step.Cause != state.CorruptData {
		return
	}
	w.Violate(world.DataIsKept, "%s is removed as corrupt, but its data is correct", e.Name)
}

// checkForeign: a foreign member is removed by consent only.
func checkForeign(w *world.World, e *world.Entry) {
	if !w.ConsentedTo(*e) {
		w.Violate(world.ForeignMembersAreKept, "%s is removed without consent", e.Name)
	}
}

// checkMove: what is done to all members is done to the leader last, so that leadership moves once. Why it moves, a step
// does not say; so the plan is asked what it would do next if there were nothing to do about the leader. To do the same
// to another member is to have moved leadership too early.
func checkMove(w *world.World, l *world.Life) {
	s, room := observe.Observe(w), v1beta2.ReasonDefragmenting
	if l != nil && l.NoSpace != 0 {
		room = v1beta2.ReasonNoSpace // a run of the schedule comes after that, and moves it once more
	}
	leader := slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Incarnation == s.Incarnation && m.Leader })
	if leader < 0 {
		return
	}
	m := &s.Members[leader]

	asIs := s.Defragmented
	s.Defragmented = maps.Clone(asIs)
	if s.Defragmented == nil {
		s.Defragmented = map[string]time.Time{}
	}
	s.Defragmented[m.Name] = s.Now
	if next, is := plan.Plan(s).(steps.DefragmentMember); is && next.Reason == room {
		w.Violate(world.LeaderLast, "leadership moves from %s before %s is defragmented", m.Name, next.Name)
	}

	s.Defragmented = asIs
	m.PodImage, m.Outdated, m.Start = s.Spec.Image(), false, state.StartRejoin
	if begins, is := plan.Plan(s).(steps.BeginRemoval); is {
		s.Removing = begins.Voter
	}
	switch next := plan.Plan(s).(type) {
	case steps.RemoveMember:
		if next.Cause == state.PodRecreated {
			w.Violate(world.LeaderLast, "leadership moves from %s before %s is replaced", m.Name, next.Name)
		}
	case steps.DeletePod:
		if next.Reason == v1beta2.ReasonUpgrading || next.Reason == v1beta2.ReasonRolling {
			w.Violate(world.LeaderLast, "leadership moves from %s before %s is restarted", m.Name, next.Name)
		}
	}
}

func checkQuorum(w *world.World, l *world.Life, what string) {
	if l == nil || l.Leader == 0 {
		w.Violate(world.NoActionWithoutQuorum, "%s while quorum is lost", what)
	}
}

// checkLeader: a member that leads is not stopped while another could lead.
func checkLeader(w *world.World, l *world.Life, e *world.Entry) {
	if l.Leader != e.ID || e.Foreign || observe.Hidden(w, e) {
		return
	}
	for i := range l.Entries {
		if other := &l.Entries[i]; other.ID != e.ID && !other.Learner && raft.Up(w, l, other) {
			w.Violate(world.LeaderLast, "leader %s is stopped, although %s could take over", e.Name, other.Name)
			return
		}
	}
}

// checkRolledLast: the leader is the last one that a rolling change touches.
func checkRolledLast(w *world.World, l *world.Life, e *world.Entry) {
	for _, other := range l.Entries {
		if o := w.Pod(other.Name); other.ID != e.ID && !other.Foreign && (o.Version != w.Cluster.Spec.Version || o.Template != w.Template || o.Resources != w.Resources) {
			w.Violate(world.LeaderLast, "the leader %s is restarted before %s", e.Name, other.Name)
		}
	}
}

// checkDelete: a volume may go when it never was the cluster's, or when the cluster is whole without it.
func checkDelete(w *world.World, l *world.Life, name string) {
	v := w.Volume(name)
	if v == nil || v.Data == nil || v.Data.Copied {
		return
	}
	owner := w.Life(v.Data.Cluster)
	if l == nil {
		if owner.Adopted {
			w.Violate(world.DataIsKept, "volume %s is deleted before a cluster has formed", name)
		}
		return
	}
	if owner != l && !owner.Adopted && owner.Incarnation > 1 {
		return // a seed that never served
	}
	if owner == l && l.ByID(v.Data.Member) != nil {
		w.Violate(world.DataIsKept, "volume %s of a member is deleted", name)
	}
	checkQuorum(w, l, "volume "+name+" is deleted")
	if v := raft.OwnVoters(w, l); v.Healthy < v.Total || v.Total != w.Cluster.Spec.Size {
		w.Violate(world.DataIsKept, "volume %s is deleted while %d of %d voters are healthy, and the spec asks for %d", name, v.Healthy, v.Total, w.Cluster.Spec.Size)
	}
}

// checkOutlived: the data that a recovery continued without is kept for some time first.
func checkOutlived(w *world.World, name string) {
	if v := w.Volume(name); v != nil && v.Outlived && !v.Aside && !v.Lost && w.Cluster.Spec.KeepReplacedVolumes() > 0 {
		w.Violate(world.DataIsKept, "volume %s is deleted at once, although a recovery continued without its data", name)
	}
}
