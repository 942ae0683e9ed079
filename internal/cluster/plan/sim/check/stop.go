package check

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// checkStop: a Pod that is stopped on purpose.
func checkStop(w *world.World, l *world.Life, step steps.DeletePod) {
	p := w.Pod(step.Name)
	if p == nil || l == nil || p.Incarnation != l.Incarnation {
		return
	}
	if step.Reason == v1beta2.ReasonHibernating {
		checkSleep(w, l, p)
		if e := l.Entry(step.Name); e != nil {
			checkOnlyCopy(w, l, e, p, step)
		}
		return
	}
	e := l.Entry(step.Name)
	if e == nil {
		return
	}
	checkOnlyCopy(w, l, e, p, step)
	if p.Scratch != nil && p.State != state.PodEnded && p.Scratch.Member == e.ID && e.Started {
		w.Violate(world.DataIsKept, "the Pod of %s is stopped, and its data is lost with it", e.Name)
	}
	if e.Learner || !raft.Up(w, l, e) {
		return
	}
	if l.Leader == 0 {
		return // without a quorum there is none to take
	}
	// A cluster of one or two cannot lose a member for a moment and keep quorum; its members are stopped all the same.
	checkKeepsQuorum(w, l, e, step)
	checkLeader(w, l, e)
	if (step.Reason == v1beta2.ReasonUpgrading || step.Reason == v1beta2.ReasonRolling) && l.Leader == e.ID {
		checkRolledLast(w, l, e)
	}
}

// checkKeepsQuorum: no voter is stopped while another one is down.
func checkKeepsQuorum(w *world.World, l *world.Life, e *world.Entry, step steps.DeletePod) {
	v := raft.Voters(w, l)
	if v.Total > 2 && (!v.KeepsQuorumWhileStopped(true) || v.Healthy+raft.DownForeign(w, l) < v.Total) && !lockedOut(w, l, step) {
		w.Violate(world.QuorumIsKept, "stopping %s leaves %d of %d voters", e.Name, v.Healthy-1, v.Total)
	}
}

// checkSleep: a Pod is stopped for hibernation when that is asked for, and the leader after all others. Nothing runs in a Pod that has
// ended, so the leader does not wait until its object is deleted: the API server may refuse that.
func checkSleep(w *world.World, l *world.Life, p *world.Pod) {
	if !w.Cluster.Spec.Hibernate || !w.Durable() {
		w.Violate(world.QuorumIsKept, "%s is stopped to hibernate, but spec.hibernate is false", p.Name)
	}
	if e := l.Entry(p.Name); e == nil || l.Leader != e.ID || w.CutOff || w.AuthOn || observe.Hidden(w, e) { // nobody says who leads
		return
	}
	for _, other := range w.Pods {
		if other.Name != p.Name && other.State != state.PodDeleting && other.State != state.PodEnded && other.Incarnation == p.Incarnation {
			w.Violate(world.LeaderLast, "the leader %s is stopped before %s", p.Name, other.Name)
			return
		}
	}
}

// checkHandover: the old members stop only for a seed that is up.
func checkHandover(w *world.World) {
	restore := w.Cluster.Status.Restore
	if w.Formed() == nil && !w.Durable() && (restore == nil || restore.Step != v1beta2.RestoreSwitching) {
		return // nothing has been acknowledged to anybody
	}
	if restore == nil || restore.Step != v1beta2.RestoreSwitching {
		w.Violate(world.QuorumIsKept, "all members are stopped without a restore")
		return
	}
	if seed := w.LifeOf(restore.Incarnation); seed == nil || !seed.Quorate {
		w.Violate(world.DataIsKept, "the old members are stopped before the seed is proven")
	}
}

// checkOnlyCopy: a Pod whose next Pod would be without its data is not stopped, unless the spec consents to continue without it.
func checkOnlyCopy(w *world.World, l *world.Life, e *world.Entry, p *world.Pod, step steps.DeletePod) {
	v := w.Volume(p.Name)
	if w.BehindCache || step.Reason == v1beta2.ReasonRecovering || v == nil || !raft.Runs(w, l, e) {
		return
	}
	if v.Lost || v.Deleting {
		w.Violate(world.DataIsKept, "the Pod of %s is stopped, and it has the only copy of its data", p.Name)
	}
}

// checkForceDelete: a Pod whose object is deleted by force may run on, unless it has stopped.
func checkForceDelete(w *world.World, l *world.Life, step steps.ForceDeletePod) {
	p := w.Pod(step.Name)
	switch {
	case step.Stopped && (p == nil || !p.Ended):
		w.Violate(world.OneIdentityOneHistory, "the Pod of %s is deleted by force, and its etcd may run", step.Name)
	case !step.Stopped && l != nil && l.Entry(step.Name) != nil:
		w.Violate(world.OneIdentityOneHistory, "the Pod of member %s is deleted by force, and the member may still vote", step.Name)
	}
}

// Successor checks that a Pod of a member is stopped only if it is known which Pod the API server must accept before.
func Successor(w *world.World, s state.State, step steps.DeletePod) {
	m, exists := state.Find(s, step.Name)
	may := s.MembershipKnown && !m.InMembership
	if !exists || may || m.Incarnation != s.Incarnation || m.Pod != state.PodRunning || step.Reason == v1beta2.ReasonHibernating {
		return
	}
	if _, follows := membership.Successor(s, step); !follows {
		w.Violate(world.QuorumIsKept, "the Pod of %s is stopped (%s), and it is not known whether the API server accepts a Pod in its place", step.Name, step.Reason)
	}
}

// lockedOut reports whether the quorum of a life may be stopped, because it serves only those that are connected, and nothing else can let it accept a
// certificate again. All its members refuse the operator. Each voter that was restarted for the present CAs has run for state.StartGrace, and could not join.
func lockedOut(w *world.World, l *world.Life, step steps.DeletePod) bool {
	if w.TLS == nil {
		return false
	}
	if w.PlainProbes && raft.Voters(w, l).KeepsQuorumWhileStopped(true) {
		return true // to the operator, such a member is one of those that are down
	}
	if p := w.Pod(step.Name); len(l.Fences) > 0 && p != nil && p.ProbesAlarm {
		return true // its Pod is not ready, although it serves
	}
	if step.Reason != v1beta2.ReasonRotatingCertificates {
		return false
	}
	return !slices.ContainsFunc(l.Entries, func(e world.Entry) bool { return mayJoin(w, l, &e) })
}

// mayJoin reports whether the operator must wait for a voter: it accepts the operator and serves, it has just started, or it was restarted and may come back. The operator
// cannot ask a foreign one.
func mayJoin(w *world.World, l *world.Life, e *world.Entry) bool {
	p := w.Pod(e.Name)
	switch {
	case e.Learner || e.Foreign:
		return false
	case raft.Runs(w, l, e):
		started := w.Now-p.TLS.Since < int(state.StartGrace/time.Second)
		return raft.AcceptsOperator(w, p) && (started || raft.Up(w, l, e))
	case p == nil:
		return w.DataOf(e.Name) != nil
	}
	return !p.Stuck && p.TLS.Trust == w.TLS.Held.Trust()
}

// checkSeedStop: a seed that serves and accepts the operator is not stopped for a CA. It restarts once it is the cluster.
func checkSeedStop(w *world.World, p *world.Pod, step steps.DeletePod) {
	now := w.Formed()
	if w.TLS == nil || p == nil || step.Reason != v1beta2.ReasonRotatingCertificates || now != nil && p.Incarnation <= now.Incarnation {
		return
	}
	if now == nil && p.Start != state.StartSeed {
		return // a member of a cluster that has not formed, which no client reaches
	}
	if l := w.LifeOf(p.Incarnation); l != nil && l.Leader != 0 && raft.AcceptsOperator(w, p) && !p.Hung {
		w.Violate(world.QuorumIsKept, "seed %s serves, and is stopped for a CA that it need not trust yet", p.Name)
	}
}
