package effects

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// boot brings a Pod's etcd up, or says why it cannot.
func boot(w *world.World, p *world.Pod) (reason, wrong string) {
	v := w.Volume(p.Name)
	if wrong := unplaceable(p, v); wrong != "" {
		return v1beta2.ReasonPodUnschedulable, wrong
	}
	p.Placed = true
	if p.AddressSince == 0 {
		p.AddressSince = w.Now
	}
	if p.Waits || p.Follows(w) {
		return "", ""
	}
	switch {
	case p.Broken:
		return v1beta2.ReasonPodFailing, "container etcd ended 7 times"
	case w.BadTemplate != 0 && p.Template == w.BadTemplate:
		return v1beta2.ReasonPodFailing, "it cannot start as it is asked for"
	case !p.InPod && v.Full:
		return v1beta2.ReasonPodFailing, NoSpaceLeft
	case w.BadImage != "" && p.Version == w.BadImage:
		return v1beta2.ReasonImageUnavailable, "no such image"
	}
	if d := w.Running(p); d != nil {
		return bootOn(w, p, d)
	}
	d, wrong := start(w, p)
	switch {
	case wrong != "":
		return v1beta2.ReasonPodFailing, wrong
	case !p.InPod:
		v.Data = d
	default:
		p.Scratch = d
	}
	return "", ""
}

// unplaceable returns why a Pod has no node.
func unplaceable(p *world.Pod, v *world.Volume) string {
	switch {
	case p.Unschedulable && !p.Placed:
		return "no node fits"
	case p.InPod:
	case v == nil:
		return "its volume is not there"
	case v.Lost:
		return "its PersistentVolume does not exist"
	case v.Deleting && !p.Placed:
		return "its volume is being deleted"
	}
	return ""
}

// bootOn brings a Pod's etcd up on data that is there.
func bootOn(w *world.World, p *world.Pod, d *world.Data) (reason, wrong string) {
	switch {
	case d.Corrupt:
		return v1beta2.ReasonPodFailing, "its data is corrupt"
	case p.Start == state.StartForce:
		force(w, p, d)
	case w.Life(d.Cluster).ByID(d.Member) == nil:
		return v1beta2.ReasonPodFailing, "the member was removed"
	}
	checkCopy(w, p, d)
	if why := raft.Unreadable(w, p, d); why != "" {
		if !p.Stale {
			w.Violate(world.DataIsReadable, "%s is started on %s: %s", p.Name, p.Version, why)
		}
		return v1beta2.ReasonPodFailing, why
	}
	return "", ""
}

// checkCopy: no voter runs on an older copy of its data.
func checkCopy(w *world.World, p *world.Pod, d *world.Data) {
	if l := w.Life(d.Cluster); d.Copied && l.ByID(d.Member) != nil && !p.Stale {
		w.Violate(world.OneIdentityOneHistory, "%s starts under its old identity on an older copy of its data", p.Name)
	}
}

// force is what etcd does with --force-new-cluster: what the member knew is what there is, and it alone is a member.
// It is held against what no state excuses: company that would be dropped, and another that knew more.
func force(w *world.World, p *world.Pod, d *world.Data) {
	l := w.Life(d.Cluster)
	if l.Forced == d.Member && len(l.Entries) == 1 {
		return // a second time is harmless
	}
	if !l.Consented {
		w.Violate(world.NoActionWithoutQuorum, "%s restarts alone without consent, or after the recovery has ended", p.Name)
	}
	for _, e := range l.Entries {
		if o := w.DataOf(e.Name); o != nil && !e.Learner && (!e.Foreign || !w.ConsentedTo(e)) && o.Member == e.ID && !o.Corrupt && !o.Copied && !Going(w, e.Name) && o.Index > d.Index {
			w.Violate(world.DataIsKept, "%s continues with %d writes, but %s has %d", p.Name, d.Index, e.Name, o.Index)
		}
	}
	outlive(w, l, d)
	name := p.Name
	l.Entries = slices.DeleteFunc(l.Entries, func(e world.Entry) bool { return e.ID != d.Member })
	if len(l.Entries) == 0 {
		l.Entries = append(l.Entries, world.Entry{ID: d.Member, Name: name, Started: true, Ran: true})
	}
	l.Forced, l.Index, l.Consented = d.Member, d.Index, false
	l.Forget(d.Index)
}

// outlive marks the volumes of the other members, whose data may be the last copy of a write.
func outlive(w *world.World, l *world.Life, survivor *world.Data) {
	for _, e := range l.Entries {
		if v := w.Volume(e.Name); v != nil && v.Data != nil && e.ID != survivor.Member && v.Data.Member == e.ID {
			v.Outlived = true
		}
	}
}
