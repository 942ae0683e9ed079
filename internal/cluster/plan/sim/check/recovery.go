package check

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// checkAlone: a survivor starts with the flag when nobody else is there.
func checkAlone(w *world.World, step steps.CreateMember) {
	if other := Company(w, step.Name); step.Start == state.StartForce && other != "" {
		w.Violate(world.NoActionWithoutQuorum, "%s restarts alone, but %s exists", step.Name, other)
	}
}

// checkEarlier: a member whose data knows the membership from before a recovery does not start again. Others like it could be a quorum of that
// membership, and acknowledge writes beside the survivor.
func checkEarlier(w *world.World, l *world.Life, step steps.CreateMember) {
	d := w.DataOf(step.Name)
	if l == nil || l.Forced == 0 || d == nil || d.Cluster != l.ID || d.Copied || step.Start == state.StartForce {
		return
	}
	if l.ByID(d.Member) == nil && d.Index > 0 && slices.Contains(earlier(w, l), step.Name) {
		w.Violate(world.AcknowledgedWritesSurvive, "%s starts with the membership from before the recovery", step.Name)
	}
}

// earlier are the names of the voters from before the last recovery, as the status has them.
func earlier(w *world.World, l *world.Life) []string {
	r := w.Cluster.Status.Recovery
	if r == nil || r.ForcedAt == nil || l.Incarnation != w.Cluster.Status.Incarnation {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Voters), func(name string) bool { return name == r.Member }) // the survivor knows the membership since
}

// Company names a Pod of the cluster other than that of the member; empty when there is none.
func Company(w *world.World, name string) string {
	for _, p := range w.Pods {
		if p.Name != name {
			return p.Name
		}
	}
	return ""
}

// checkRecovery: quorum is lost for good, and the user consents.
func checkRecovery(w *world.World, l *world.Life, step steps.BeginRecovery) {
	if !w.Cluster.Spec.ForcesNewCluster() {
		w.Violate(world.NoActionWithoutQuorum, "%s is chosen as the survivor without consent", step.Member)
	}
	if l == nil || l.Leader != 0 {
		w.Violate(world.NoActionWithoutQuorum, "%s is chosen as the survivor, but quorum is not lost", step.Member)
		return
	}
	var v etcd.Voters
	for _, e := range l.Entries {
		if d := w.DataOf(e.Name); !e.Learner {
			v.Total++
			if d != nil && d.Member == e.ID && !d.Copied && !effects.Going(w, e.Name) && (!e.Foreign || !w.ConsentedTo(e)) {
				v.Healthy++
			}
		}
	}
	if v.HasQuorum() {
		w.Violate(world.NoActionWithoutQuorum, "%s is chosen as the survivor, but %d of %d voters have their data", step.Member, v.Healthy, v.Total)
	}
	l.Consented, l.Forced = true, 0
}
