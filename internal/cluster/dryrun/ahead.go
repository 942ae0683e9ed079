package dryrun

import (
	"context"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// A Pod that the API server refuses would be noticed when a member must be created again, which is in the middle of a failure. So the
// operator creates a Pod of each healthy cluster in a dry run, once for each generation of the spec. The dry run runs beside the passes,
// because a webhook may take seconds to answer, and no repair may wait for that.

const (
	foreseeTimeout = 15 * time.Second
)

// ProblemOf is what is wrong with the Pods of the spec, as far as a dry run has shown it.
func (r *Rehearsals) ProblemOf(v *view.View) string {
	return r.Memory.OfView(v).pod.problemOf(v.Cluster.Generation)
}

// RehearseAhead begins a dry run of the Pod of a member if one is due, and nothing is to be repaired or changed. It does not wait for the
// answer.
func (r *Rehearsals) RehearseAhead(ctx context.Context, v *view.View, step steps.Step) {
	known, generation, now := &r.Memory.OfView(v).pod, v.Cluster.Generation, v.Now
	if r.Foresight == nil || steps.Acts(step) || v.Remembered || v.Spec.Paused || !repair.Whole(v.State) || !known.due(generation, now) {
		return
	}
	running := slices.IndexFunc(v.Members, func(m state.Member) bool { return m.InMembership && m.Pod == state.PodRunning })
	if running < 0 {
		return
	}
	create := steps.CreateMember{Name: v.Members[running].Name, Incarnation: v.Incarnation, Start: state.StartRejoin}
	pod, err := r.rehearsalOf(v, create)
	if err != nil || !r.Foresight.begin(now) {
		return // a later pass tries again
	}
	known.begin()
	ctx = context.WithoutCancel(ctx)
	go panics.Caught(func() {
		defer r.Foresight.end()
		ctx, cancel := context.WithTimeout(ctx, foreseeTimeout)
		defer cancel()
		found, err := r.tryPod(ctx, v, create, pod)
		problem := ""
		if found != (unfit{}) {
			problem = found.why + " " + found.fix
		}
		if known.end(generation, now, problem, err) {
			r.WakeUp(v.Cluster.ObjectMeta)
		}
	}, func(err error) { known.end(generation, now, "", err) })()
}
