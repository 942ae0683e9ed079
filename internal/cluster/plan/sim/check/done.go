package check

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Done holds the world against what Done claims.
func Done(w *world.World) {
	l := w.Formed()
	if l == nil {
		w.Violate(world.EveryRunSettles, "Done is reported, but no cluster has formed")
		return
	}
	v := raft.Voters(w, l)
	if len(l.Entries) != w.Cluster.Spec.Size || v != (etcd.Voters{Total: len(l.Entries), Healthy: len(l.Entries)}) {
		w.Violate(world.EveryRunSettles, "Done is reported with %d of %d voters and %d members, but the spec asks for %d", v.Healthy, v.Total, len(l.Entries), w.Cluster.Spec.Size)
	}
	checkReadOnly(w, l)
	checkTrust(w)
	checkBudget(w, l)
	checkVolumes(w, observe.Observe(w))
	checkTemplates(w, l)
	checkSpace(w, l)
	checkAsked(w, l)
	checkGuarded(w, l)
	for _, p := range w.Pods {
		e := l.Entry(p.Name)
		if e == nil || p.InPod == w.Durable() || p.Exposed == observe.Observe(w).Fenced(p.Name) || p.Start == state.StartForce || p.Version != w.Cluster.Spec.Version {
			w.Violate(world.EveryRunSettles, "Done is reported, but Pod %s differs from the spec", p.Name)
		}
	}
	for _, v := range w.Volumes {
		if l.Entry(v.Name) == nil && !v.Aside {
			w.Violate(world.EveryRunSettles, "Done is reported, but volume %s still exists", v.Name)
		}
	}
	if w.Services.ClientIncarnation != l.Incarnation || w.Services.ClientClusterID != l.ID.String() {
		w.Violate(world.EveryRunSettles, "Done is reported, but the client Service selects another incarnation")
	}
}

// checkReadOnly: when all is as the spec asks, writes are refused exactly if it asks for that.
func checkReadOnly(w *world.World, l *world.Life) {
	is := slices.Contains(l.Fences, w.ReadOnlyFence())
	switch {
	case is && !w.Cluster.Spec.ReadOnly:
		w.Violate(world.EveryRunSettles, "the run has ended, but the fence of spec.readOnly refuses writes that the spec allows")
	case !is && w.Cluster.Spec.ReadOnly && raft.HoldsFences(w):
		w.Violate(world.AcknowledgedWritesSurvive, "the run has ended, but spec.readOnly refuses no writes")
	case len(l.Fences) > 1 || !is && len(l.Fences) > 0:
		w.Violate(world.EveryRunSettles, "the run has ended, but a fence refuses writes")
	}
}

// checkSpace of a cluster that is done.
func checkSpace(w *world.World, l *world.Life) {
	if l.NoSpace != 0 && !w.Cluster.Spec.ReadOnly { // etcd compacts nothing in a read-only cluster
		w.Violate(world.EveryRunSettles, "Done is reported, but etcd refuses writes")
	}
	if l.Accused != 0 {
		w.Violate(world.EveryRunSettles, "Done is reported, but etcd refuses requests")
	}
}

// checkTemplates: done means that every Pod is what is asked for.
func checkTemplates(w *world.World, l *world.Life) {
	if l.Downgrade != 0 {
		w.Violate(world.EveryRunSettles, "Done is reported, but etcd is bringing the cluster down to 3.%d", l.Downgrade)
	}
	if slices.ContainsFunc(w.Pods, func(p world.Pod) bool {
		return p.Template != w.Template || p.Resources != w.Resources || p.Labels != w.Labels
	}) {
		w.Violate(world.EveryRunSettles, "Done is reported, but a Pod differs from the spec")
	}
}

// checkAsked: done means that all that annotations ask for is done, too.
func checkAsked(w *world.World, l *world.Life) {
	s := observe.Observe(w)
	for _, e := range l.Entries {
		if slices.Contains(s.Asked.Replace, e.Name) && !slices.Contains(s.Asked.Fence, e.Name) {
			w.Violate(world.EveryRunSettles, "Done is reported, but %s was to be replaced", e.Name)
		}
		if l.Leader == e.ID && slices.Contains(s.Asked.MoveLeader, e.Name) {
			w.Violate(world.EveryRunSettles, "Done is reported, but %s still leads", e.Name)
		}
	}
}

// checkGuarded: once a cluster is done, no member that has started makes data again.
func checkGuarded(w *world.World, l *world.Life) {
	for i := range w.Pods {
		if e := l.Entry(w.Pods[i].Name); w.Volatile && e != nil && e.Started && world.MayStartEmpty(&w.Pods[i]) {
			w.Violate(world.OneIdentityOneHistory, "Done is reported, but %s starts without its data if its container restarts on an empty volume", e.Name)
		}
	}
}

// checkTrust of a cluster that is done: each process trusts the CAs that the Secrets hold, and no replacement of a CA is under way.
func checkTrust(w *world.World) {
	t := w.TLS
	if t == nil {
		return
	}
	if t.Missing || t.Asked || t.Before != 0 || w.ManagedTLS() && t.Held.Peer.Signer != t.Signs {
		w.Violate(world.EveryRunSettles, "Done is reported, but the CA is being replaced: %+v", t)
	}
	for _, p := range w.Pods {
		// A container that has restarted in its Pod may trust more.
		if p.TLS == nil || t.Held.Peer.Trusted&^p.TLS.Has.Peer.Trusted != 0 || t.Held.Client.Trusted&^p.TLS.Has.Client.Trusted != 0 {
			w.Violate(world.EveryRunSettles, "Done is reported, but %s does not trust all CAs that its Secrets hold: %v, and they hold %v", p.Name, p.TLS, t.Held)
		}
	}
}

// checkBudget holds the PodDisruptionBudget of a cluster that is done against what it should allow.
func checkBudget(w *world.World, l *world.Life) {
	want := etcd.Quorum(len(l.Entries))
	if w.Durable() && w.Cluster.Spec.Size <= 2 {
		want = w.Cluster.Spec.Size - 1
	}
	if b := w.Budget; b.Other == "" && (!b.Exists || b.Incarnation != l.Incarnation || b.MinAvailable != want) {
		w.Violate(world.EveryRunSettles, "Done is reported, but the PodDisruptionBudget is %+v", b)
	}
}

// checkVolumes of a cluster that is done.
func checkVolumes(w *world.World, s state.State) {
	want := state.StorageRequest(s)
	for _, v := range w.Volumes {
		if v.Kept != w.Cluster.Spec.RetainsVolumes() {
			w.Violate(world.EveryRunSettles, "Done is reported, but volume %s is marked as kept: %v", v.Name, v.Kept)
		}
		if !v.Aside && v.Size > 0 && v.Size < want.Value() {
			w.Violate(world.EveryRunSettles, "Done is reported, but volume %s has %d bytes", v.Name, v.Size)
		}
	}
}

// Asleep holds the world against what Asleep claims.
func Asleep(w *world.World) {
	if len(w.Pods) > 0 {
		w.Violate(world.EveryRunSettles, "Hibernating is reported, but Pod %s exists", w.Pods[0].Name)
	}
	if !w.Cluster.Spec.Hibernate {
		w.Violate(world.EveryRunSettles, "Hibernating is reported, but spec.hibernate is false")
	}
}
