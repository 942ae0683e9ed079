package model

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Check compares a step that is about to be done with the invariants that a single step can break:
// 1, 2, 4, 5 and 7. A breach of 3 shows when a Pod starts, and one of 6 when the world runs on.
func (w *World) Check(step steps.Step) {
	l := w.formed()
	w.checkTime(step)
	switch step := step.(type) {
	case steps.AddLearner, steps.PromoteLearner, steps.RemoveMember, steps.MoveLeader:
		w.checkChange(l, step)
	case steps.DeletePod:
		w.checkSeedStop(w.pod(step.Name), step)
		w.checkStop(l, step)
	case steps.DefragmentMember:
		w.checkDefragment(l, step)
	case steps.DisarmAlarm:
		w.checkDisarm(l, step)
	case steps.StopMembers:
		w.checkHandover()
	case steps.DeleteVolume:
		w.checkDelete(l, step.Name)
		w.checkOutlived(step.Name)
	case steps.SetAsideVolume:
		w.checkDelete(l, step.Name)
	case steps.ForceDeletePod:
		w.checkForceDelete(l, step)
	case steps.CreateMember:
		w.checkAlone(step)
		w.checkEarlier(l, step)
	case steps.BeginRecovery:
		w.checkRecovery(l, step)
	case steps.BeginRestore:
		w.checkOnce(step)
	case steps.CreateMembers:
		if l != nil {
			w.violate(OneIdentityOneHistory, "a formed cluster is bootstrapped a second time")
		}
	case steps.Wait:
		w.checkFencedWait(l, step)
	case steps.UnfenceWrites:
		w.checkUnfence(l)
	case steps.AdoptSeed:
		w.checkAdopt(step)
	}
}

// checkFencedWait: the operator waits for nothing while a restore has fenced the members, unless it cannot ask them.
func (w *World) checkFencedWait(l *life, step steps.Wait) {
	unseen := w.behindCache && step.Reason == v1beta2.ReasonMembersUnreachable // an old cache has none of the members
	if w.waitsForExact() || unseen {
		return
	}
	if l != nil && l.leader != 0 && w.restoreFences(l) && w.audible(l) && w.SecretProblem == "" {
		w.violate(EveryRunSettles, "the operator waits (%s) while a fence refuses writes", step.Reason)
	}
}

func (w *World) checkAdopt(step steps.AdoptSeed) {
	seed := w.lifeOf(step.Incarnation)
	if seed == nil || seed.leader == 0 {
		w.violate(DataIsKept, "a seed that does not serve becomes the cluster")
	}
	w.checkSeedReadOnly(seed)
	w.checkExact(w.formed(), step)
	w.checkReplacedLives(step.Incarnation)
}

// checkForceDelete: a Pod whose object is deleted by force may run on, unless it has stopped.
func (w *World) checkForceDelete(l *life, step steps.ForceDeletePod) {
	p := w.pod(step.Name)
	switch {
	case step.Stopped && (p == nil || !p.ended):
		w.violate(OneIdentityOneHistory, "the Pod of %s is deleted by force, and its etcd may run", step.Name)
	case !step.Stopped && l != nil && l.entry(step.Name) != nil:
		w.violate(OneIdentityOneHistory, "the Pod of member %s is deleted by force, and the member may still vote", step.Name)
	}
}

// checkSuccessor: a Pod of a member is stopped only if it is known which Pod the API server must accept before.
func (w *World) checkSuccessor(s state.State, step steps.DeletePod) {
	m, exists := state.Find(s, step.Name)
	may := s.MembershipKnown && !m.InMembership
	if !exists || may || m.Incarnation != s.Incarnation || m.Pod != state.PodRunning || step.Reason == v1beta2.ReasonHibernating {
		return
	}
	if _, follows := membership.Successor(s, step); !follows {
		w.violate(QuorumIsKept, "the Pod of %s is stopped (%s), and it is not known whether the API server accepts a Pod in its place", step.Name, step.Reason)
	}
}

// checkChange: a change of the membership, or of who leads.
func (w *World) checkChange(l *life, step steps.Step) {
	switch step := step.(type) {
	case steps.AddLearner:
		w.checkAdd(l, step)
	case steps.PromoteLearner:
		w.checkQuorum(l, "a learner is promoted")
	case steps.RemoveMember:
		w.checkRemove(l, step)
	case steps.MoveLeader:
		w.checkMove(l)
	}
}

// CheckStale holds a step that was planned from an old state against what no old state excuses.
func (w *World) CheckStale(step steps.Step) {
	if step, ok := step.(steps.DeleteVolume); ok {
		v := w.volume(step.Name)
		if l := w.formed(); l != nil && v != nil && v.data != nil && v.data.cluster == l.id && l.byID(v.data.member) != nil {
			w.violate(DataIsKept, "volume %s of a member is deleted", step.Name)
		}
	}
}

func (w *World) checkQuorum(l *life, what string) {
	if l == nil || l.leader == 0 {
		w.violate(NoActionWithoutQuorum, "%s while quorum is lost", what)
	}
}

func (w *World) checkAdd(l *life, step steps.AddLearner) {
	w.checkQuorum(l, "a member is added")
	if l == nil {
		return
	}
	if d := w.dataOf(step.Name); d != nil {
		w.violate(OneIdentityOneHistory, "%s is added with data of an earlier member", step.Name)
	}
	if p := w.pod(step.Name); p != nil && p.waits && p.addressSince == 0 {
		w.violate(QuorumIsKept, "%s is added, and its name does not resolve", step.Name)
	}
	for _, e := range l.entries {
		if e.learner {
			w.violate(OneChangeAtATime, "%s is added while %s is", step.Name, e.name)
		}
	}
}

func (w *World) checkRemove(l *life, step steps.RemoveMember) {
	w.checkQuorum(l, "a member is removed")
	if l == nil {
		return
	}
	e := l.byID(step.ID)
	if e != nil && e.foreign {
		w.checkForeign(e)
	}
	if e == nil || e.learner {
		return
	}
	for _, other := range l.entries {
		if other.learner {
			w.violate(OneChangeAtATime, "%s is removed while %s is added", e.name, other.name)
		}
	}
	if !e.foreign {
		w.checkConvicted(l, e, step)
		w.checkReplaced(l, e)
	}
	if !w.voters(l).KeepsQuorumWithout(w.up(l, e)) {
		w.violate(QuorumIsKept, "removing %s takes quorum", e.name)
	}
	w.checkLeader(l, e)
}

// checkStop: a Pod that is stopped on purpose.
func (w *World) checkStop(l *life, step steps.DeletePod) {
	p := w.pod(step.Name)
	if p == nil || l == nil || p.incarnation != l.incarnation {
		return
	}
	if step.Reason == v1beta2.ReasonHibernating {
		w.checkSleep(l, p)
		if e := l.entry(step.Name); e != nil {
			w.checkOnlyCopy(l, e, p, step)
		}
		return
	}
	e := l.entry(step.Name)
	if e == nil {
		return
	}
	w.checkOnlyCopy(l, e, p, step)
	if p.scratch != nil && p.state != state.PodEnded && p.scratch.member == e.id && e.started {
		w.violate(DataIsKept, "the Pod of %s is stopped, and its data is lost with it", e.name)
	}
	if e.learner || !w.up(l, e) {
		return
	}
	if l.leader == 0 {
		return // without a quorum there is none to take
	}
	// A cluster of one or two cannot lose a member for a moment and keep quorum; its members are stopped all the same.
	w.checkKeepsQuorum(l, e, step)
	w.checkLeader(l, e)
	if (step.Reason == v1beta2.ReasonUpgrading || step.Reason == v1beta2.ReasonRolling) && l.leader == e.id {
		w.checkRolledLast(l, e)
	}
}

// checkKeepsQuorum: no voter is stopped while another one is down.
func (w *World) checkKeepsQuorum(l *life, e *entry, step steps.DeletePod) {
	v := w.voters(l)
	if v.Total > 2 && (!v.KeepsQuorumWhileStopped(true) || v.Healthy+w.downForeign(l) < v.Total) && !w.lockedOut(l, step) {
		w.violate(QuorumIsKept, "stopping %s leaves %d of %d voters", e.name, v.Healthy-1, v.Total)
	}
}

// checkRolledLast: the leader is the last one that a rolling change touches.
func (w *World) checkRolledLast(l *life, e *entry) {
	for _, other := range l.entries {
		if o := w.pod(other.name); other.id != e.id && !other.foreign && (o.version != w.Cluster.Spec.Version || o.template != w.template || o.resources != w.resources) {
			w.violate(LeaderLast, "the leader %s is restarted before %s", e.name, other.name)
		}
	}
}

// checkLeader: a member that leads is not stopped while another could lead.
func (w *World) checkLeader(l *life, e *entry) {
	if l.leader != e.id || e.foreign || w.hidden(e) {
		return
	}
	for i := range l.entries {
		if other := &l.entries[i]; other.id != e.id && !other.learner && w.up(l, other) {
			w.violate(LeaderLast, "leader %s is stopped, although %s could take over", e.name, other.name)
			return
		}
	}
}

// checkHandover: the old members stop only for a seed that is up.
func (w *World) checkHandover() {
	restore := w.Cluster.Status.Restore
	if w.formed() == nil && !w.durable() && (restore == nil || restore.Step != v1beta2.RestoreSwitching) {
		return // nothing has been acknowledged to anybody
	}
	if restore == nil || restore.Step != v1beta2.RestoreSwitching {
		w.violate(QuorumIsKept, "all members are stopped without a restore")
		return
	}
	if seed := w.lifeOf(restore.Incarnation); seed == nil || !seed.quorate {
		w.violate(DataIsKept, "the old members are stopped before the seed is proven")
	}
}

// checkDelete: a volume may go when it never was the cluster's, or when the cluster is whole without it.
func (w *World) checkDelete(l *life, name string) {
	v := w.volume(name)
	if v == nil || v.data == nil || v.data.copied {
		return
	}
	owner := w.life(v.data.cluster)
	if l == nil {
		if owner.adopted {
			w.violate(DataIsKept, "volume %s is deleted before a cluster has formed", name)
		}
		return
	}
	if owner != l && !owner.adopted && owner.incarnation > 1 {
		return // a seed that never served
	}
	if owner == l && l.byID(v.data.member) != nil {
		w.violate(DataIsKept, "volume %s of a member is deleted", name)
	}
	w.checkQuorum(l, "volume "+name+" is deleted")
	if v := w.ownVoters(l); v.Healthy < v.Total || v.Total != w.Cluster.Spec.Size {
		w.violate(DataIsKept, "volume %s is deleted while %d of %d voters are healthy, and the spec asks for %d", name, v.Healthy, v.Total, w.Cluster.Spec.Size)
	}
}

// checkOutlived: the data that a recovery continued without is kept for some time first.
func (w *World) checkOutlived(name string) {
	if v := w.volume(name); v != nil && v.outlived && !v.aside && !v.lost && w.Cluster.Spec.KeepReplacedVolumes() > 0 {
		w.violate(DataIsKept, "volume %s is deleted at once, although a recovery continued without its data", name)
	}
}

// CheckDone holds the world against what Done claims.
func (w *World) CheckDone() {
	l := w.formed()
	if l == nil {
		w.violate(EveryRunSettles, "Done is reported, but no cluster has formed")
		return
	}
	v := w.voters(l)
	if len(l.entries) != w.Cluster.Spec.Size || v != (etcd.Voters{Total: len(l.entries), Healthy: len(l.entries)}) {
		w.violate(EveryRunSettles, "Done is reported with %d of %d voters and %d members, but the spec asks for %d", v.Healthy, v.Total, len(l.entries), w.Cluster.Spec.Size)
	}
	w.checkReadOnly(l)
	w.checkTrust()
	w.checkBudget(l)
	w.checkVolumes(w.Observe())
	w.checkTemplates(l)
	w.checkSpace(l)
	w.checkAsked(l)
	w.checkGuarded(l)
	for _, p := range w.pods {
		e := l.entry(p.name)
		if e == nil || p.inPod == w.durable() || p.exposed == w.Observe().Fenced(p.name) || p.start == state.StartForce || p.version != w.Cluster.Spec.Version {
			w.violate(EveryRunSettles, "Done is reported, but Pod %s differs from the spec", p.name)
		}
	}
	for _, v := range w.volumes {
		if l.entry(v.name) == nil && !v.aside {
			w.violate(EveryRunSettles, "Done is reported, but volume %s still exists", v.name)
		}
	}
	if w.Services.ClientIncarnation != l.incarnation || w.Services.ClientClusterID != l.id.String() {
		w.violate(EveryRunSettles, "Done is reported, but the client Service selects another incarnation")
	}
}
