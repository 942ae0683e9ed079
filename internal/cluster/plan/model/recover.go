package model

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// force is what etcd does with --force-new-cluster: what the member knew is what there is, and it alone is a member.
// It is held against what no state excuses: company that would be dropped, and another that knew more.
func (w *World) force(p *pod, d *data) {
	l := w.life(d.cluster)
	if l.forced == d.member && len(l.entries) == 1 {
		return // a second time is harmless
	}
	if !l.consented {
		w.violate(NoActionWithoutQuorum, "%s restarts alone without consent, or after the recovery has ended", p.name)
	}
	for _, e := range l.entries {
		if o := w.dataOf(e.name); o != nil && !e.learner && (!e.foreign || !w.consentedTo(e)) && o.member == e.id && !o.corrupt && !o.copied && !w.going(e.name) && o.index > d.index {
			w.violate(DataIsKept, "%s continues with %d writes, but %s has %d", p.name, d.index, e.name, o.index)
		}
	}
	w.outlive(l, d)
	name := p.name
	l.entries = slices.DeleteFunc(l.entries, func(e entry) bool { return e.id != d.member })
	if len(l.entries) == 0 {
		l.entries = append(l.entries, entry{id: d.member, name: name, started: true, ran: true})
	}
	l.forced, l.index, l.consented = d.member, d.index, false
	l.forget(d.index)
}

// outlive marks the volumes of the other members, whose data may be the last copy of a write.
func (w *World) outlive(l *life, survivor *data) {
	for _, e := range l.entries {
		if v := w.volume(e.name); v != nil && v.data != nil && e.id != survivor.member && v.data.member == e.id {
			v.outlived = true
		}
	}
}

// checkAlone: a survivor starts with the flag when nobody else is there.
func (w *World) checkAlone(step steps.CreateMember) {
	if other := w.company(step.Name); step.Start == state.StartForce && other != "" {
		w.violate(NoActionWithoutQuorum, "%s restarts alone, but %s exists", step.Name, other)
	}
}

// checkEarlier: a member whose data knows the membership from before a recovery does not start again. Others like it could be a quorum of that
// membership, and acknowledge writes beside the survivor.
func (w *World) checkEarlier(l *life, step steps.CreateMember) {
	d := w.dataOf(step.Name)
	if l == nil || l.forced == 0 || d == nil || d.cluster != l.id || d.copied || step.Start == state.StartForce {
		return
	}
	if l.byID(d.member) == nil && d.index > 0 && slices.Contains(w.earlier(l), step.Name) {
		w.violate(AcknowledgedWritesSurvive, "%s starts with the membership from before the recovery", step.Name)
	}
}

// earlier are the names of the voters from before the last recovery, as the status has them.
func (w *World) earlier(l *life) []string {
	r := w.Cluster.Status.Recovery
	if r == nil || r.ForcedAt == nil || l.incarnation != w.Cluster.Status.Incarnation {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Voters), func(name string) bool { return name == r.Member }) // the survivor knows the membership since
}

// company names a Pod of the cluster other than that of the member; empty when there is none.
func (w *World) company(name string) string {
	for _, p := range w.pods {
		if p.name != name {
			return p.name
		}
	}
	return ""
}

// checkRecovery: quorum is lost for good, and the user consents.
func (w *World) checkRecovery(l *life, step steps.BeginRecovery) {
	if !w.Cluster.Spec.ForcesNewCluster() {
		w.violate(NoActionWithoutQuorum, "%s is chosen as the survivor without consent", step.Member)
	}
	if l == nil || l.leader != 0 {
		w.violate(NoActionWithoutQuorum, "%s is chosen as the survivor, but quorum is not lost", step.Member)
		return
	}
	var v etcd.Voters
	for _, e := range l.entries {
		if d := w.dataOf(e.name); !e.learner {
			v.Total++
			if d != nil && d.member == e.id && !d.copied && !w.going(e.name) && (!e.foreign || !w.consentedTo(e)) {
				v.Healthy++
			}
		}
	}
	if v.HasQuorum() {
		w.violate(NoActionWithoutQuorum, "%s is chosen as the survivor, but %d of %d voters have their data", step.Member, v.Healthy, v.Total)
	}
	l.consented, l.forced = true, 0
}

// checkOnce: an EtcdRestore that has become the cluster is not run again.
func (w *World) checkOnce(step steps.BeginRestore) {
	for _, l := range w.incarnations {
		if l.adopted && l.restore != "" && l.restore == step.Restore.UID {
			w.violate(DataIsKept, "EtcdRestore %s runs a second time", l.restore)
		}
	}
}

// going says whether nothing holds a volume any more that is being deleted.
func (w *World) going(name string) bool {
	v, p := w.volume(name), w.pod(name)
	return v != nil && v.deleting && (p == nil || !p.placed)
}

// Lag has the data on the volumes end the sooner the later they stand in the list, as after a loss of power.
func (w *World) Lag() {
	for i := range w.volumes {
		if d := w.volumes[i].data; d != nil {
			d.index = len(w.volumes) - i
			l := w.life(d.cluster)
			l.index = 0
		}
	}
}

// Consented is a world in which a survivor was chosen by the user's leave.
func (w *World) Consented() {
	for i := range w.incarnations {
		w.incarnations[i].consented = true
	}
}
