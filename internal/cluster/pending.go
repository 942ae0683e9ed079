package cluster

import (
	"context"
	"errors"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// handOver ends a pass whose members have yet to answer. The last answer starts the next pass.
func handOver() ctrl.Result {
	return ctrl.Result{RequeueAfter: members.AskTimeout, Priority: &queue.Urgent}
}

// createMissing creates the Pod of a member while other members have yet to answer, if that is the next step whatever they answer.
// If one member hangs and the Pod of another is deleted, the third has no quorum and answers late. Without the answers, only a
// recorded voter is created: another one may have been removed from the membership, and the plan would delete its Pod again.
func (r *Reconciler) createMissing(ctx context.Context, v *view.View) error {
	if !slices.ContainsFunc(v.Members, func(m state.Member) bool { return m.Pod == state.PodNone }) {
		return nil
	}
	v.Remembered, v.Held = true, v.Repeats.Held(v.Cluster.Generation, v.Now)
	step, _ := plan.Choose(v.State)
	if create, is := step.(steps.CreateMember); !is || create.Waits || steps.Irreversible(v.State, create) || !slices.Contains(v.KnownVoters, create.Name) {
		return nil
	}
	err := r.actor.Act(ctx, v, step)
	if err == nil {
		v.Repeats.Did(v.State, step, v.Cluster.Generation, v.Now)
		kube.PublishEvents(r.Events, v.Cluster, plan.Events(v.State, step, nil, false))
	}
	return err
}

// endPending ends a pass whose members have yet to answer.
func (r *Reconciler) endPending(ctx context.Context, v *view.View) (ctrl.Result, error) {
	switch err := r.createMissing(ctx, v); {
	case errors.Is(err, view.ErrBehind):
		return r.foundBehind(ctx, v, err)
	case err != nil:
		return handOver(), err
	}
	return handOver(), r.foundUnanswered(ctx, v)
}
