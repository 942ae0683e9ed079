package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// defragmentTimeout is how long a pass waits. After that the member continues by itself, and answers when it is done.
const defragmentTimeout = 10 * time.Second

// actOnEtcd does the steps that ask something of etcd.
func (r *Reconciler) actOnEtcd(ctx context.Context, v *view, step plan.Step) error {
	switch step := step.(type) {
	case plan.AddLearner:
		return r.addMember(ctx, v, step)
	case plan.PromoteLearner:
		return r.withServing(ctx, v, "", func(member Etcd) error { return member.Promote(ctx, step.ID) })
	case plan.RemoveMember:
		if err := r.rehearseSuccessor(ctx, v, step); err != nil {
			return err
		}
		return r.changeMembers(ctx, v, step, step.Name, func(member Etcd) error { return member.Remove(ctx, step.ID) })
	case plan.MoveLeader:
		return r.with(ctx, v, step.From, func(member Etcd) error { return member.MoveLeader(ctx, step.To) })
	case plan.EnableDowngrade:
		return r.withServing(ctx, v, "", func(member Etcd) error { return member.EnableDowngrade(ctx, step.To) })
	case plan.CancelDowngrade:
		return r.withServing(ctx, v, "", func(member Etcd) error { return member.CancelDowngrade(ctx) })
	case plan.CompactHistory:
		return r.withServing(ctx, v, "", func(member Etcd) error { return member.Compact(ctx, step.Revision) })
	case plan.DisarmAlarm:
		return r.withServing(ctx, v, "", func(member Etcd) error { return member.Disarm(ctx, step.Alarm) })
	case plan.FenceWrites:
		fence := func(member Etcd) (err error) { v.FencedAt, err = member.Fence(ctx, step.ID); return err }
		if step.Seed != "" {
			return r.with(ctx, v, step.Seed, fence)
		}
		return r.withServing(ctx, v, "", fence)
	case plan.UnfenceWrites:
		return r.withServing(ctx, v, "", func(member Etcd) error { return member.Unfence(ctx, step.ID) })
	case plan.DefragmentMember:
		return r.with(ctx, v, step.Name, func(member Etcd) error {
			ctx, cancel := context.WithTimeout(ctx, defragmentTimeout)
			defer cancel()
			return member.Defragment(ctx)
		})
	default:
		return fmt.Errorf("step %T is not about etcd", step)
	}
}
