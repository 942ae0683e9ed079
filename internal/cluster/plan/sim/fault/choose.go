package fault

import (
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// fault is one thing that users, hosts and clouds do to a cluster. It says what it did, or nothing.
type fault func(*world.World, *rand.Rand) string

// spare says whether the data of a member may be lost without loss of quorum, while all others are well: which of
// two that are not is the better one to keep, nobody can know. In a world that is not gentle it always may.
func spare(w *world.World, name string) bool {
	for i := range w.Incarnations {
		l := &w.Incarnations[i]
		if e := l.Entry(name); !w.Gentle || e == nil {
			continue
		}
		if v := raft.Voters(w, l); v.Healthy < v.Total {
			return false
		}
		kept := etcd.Voters{}
		for _, e := range l.Entries {
			if !e.Learner || e.Name == name { // a learner may have its vote any moment
				kept.Total++
				if e.Name != name && safe(w, l, e) {
					kept.Healthy++
				}
			}
		}
		if !kept.HasQuorum() {
			return false
		}
	}
	return true
}

// Losing says whether a volume is about to go with its Pod.
func Losing(w *world.World) bool {
	return slices.ContainsFunc(w.Volumes, func(v world.Volume) bool { return v.Deleting || v.Lost })
}

// safe says whether a member has data that is not about to go.
func safe(w *world.World, l *world.Life, e world.Entry) bool {
	d := w.DataOf(e.Name)
	if e.Foreign {
		return !e.Down
	}
	if d == nil || d.Cluster != l.ID || d.Member != e.ID || d.Corrupt || d.Copied {
		return false
	}
	if p := w.Pod(e.Name); p != nil && p.InPod {
		return p.State != state.PodDeleting && p.State != state.PodEnded
	}
	return !w.Volume(e.Name).Deleting && !w.Volume(e.Name).Lost
}

func anyPod(w *world.World, r *rand.Rand) *world.Pod {
	if len(w.Pods) == 0 {
		return nil
	}
	return &w.Pods[r.IntN(len(w.Pods))]
}

// onPod does something to a random Pod. If do stops a Pod that has ended, p is another Pod afterwards.
func onPod(what string, do func(*world.World, *world.Pod)) fault {
	return func(w *world.World, r *rand.Rand) string {
		p := anyPod(w, r)
		if p == nil || (p.InPod && !spare(w, p.Name)) || (w.Gentle && Losing(w)) {
			return ""
		}
		name := p.Name
		do(w, p)
		return what + " " + name
	}
}

func annotate(w *world.World, key, value string) {
	annotations := map[string]string{}
	for k, v := range w.Cluster.Annotations {
		annotations[k] = v
	}
	annotations[key] = value
	w.Cluster.Annotations = annotations
}

// safeQuorum says whether enough voters have data that is not about to go.
func safeQuorum(w *world.World, l *world.Life) bool {
	v := etcd.Voters{}
	for _, e := range l.Entries {
		if !e.Learner {
			v.Total++
			if safe(w, l, e) {
				v.Healthy++
			}
		}
	}
	return v.HasQuorum()
}
