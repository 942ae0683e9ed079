package cluster

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// defragmentTimeout is how long a pass looks on: the member goes on by itself, and answers again when it is through.
const defragmentTimeout = 10 * time.Second

// actOnSpace does the steps that concern the members' databases; false for every other step.
func (r *Reconciler) actOnSpace(ctx context.Context, v *view, step plan.Step) (bool, error) {
	switch step := step.(type) {
	case plan.CompactHistory:
		return true, r.withServing(v, "", func(member Etcd) error { return member.Compact(ctx, step.Revision) })
	case plan.DisarmAlarm:
		return true, r.withServing(v, "", func(member Etcd) error { return member.Disarm(ctx, step.Alarm) })
	case plan.DefragmentMember:
		return true, r.with(v, step.Name, func(member Etcd) error {
			ctx, cancel := context.WithTimeout(ctx, defragmentTimeout)
			defer cancel()
			return member.Defragment(ctx)
		})
	}
	return false, nil
}
