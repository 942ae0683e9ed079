package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// planAndAct carries out the first step that the plan returns. If the API server refuses the object of that step for good,
// and the plan does not depend on it, the rest of the plan is carried out: its step may be the cure, or be about the next
// object of the same rule. If the plan depends on it, or etcd refuses the step for now, a wait takes its place, and the rules after it
// are asked as after any wait. No step is tried twice. The first refusal is kept in the view.
func (r *Reconciler) planAndAct(ctx context.Context, v *view.View) (steps.Step, error) {
	for {
		step, rule := plan.Choose(v.State)
		log.FromContext(ctx).V(1).Info("planned", "step", fmt.Sprintf("%T", step), "rule", rule)
		err := r.actor.Act(ctx, v, step)
		if err == nil {
			v.Repeats.Did(v.State, step, v.Cluster.Generation, v.Now)
		}
		if err == nil {
			return step, nil
		}
		if !failure.Skippable(v, rule, step, err) {
			wait, is := failure.WaitInstead(v, step, err)
			if !is {
				return step, err
			}
			plan.Obstruct(&v.State, step, wait)
			v.Obstructed = cmp.Or(v.Obstructed, err)
			continue
		}
		if steps.DeletesStopped(v.State, step) && !errors.Is(err, view.ErrForeign) {
			v.Held = append(slices.Clone(v.Held), v.Repeats.Refused(v.State, step, planning.Shorten(err.Error(), dryrun.MaxQuote)))
			continue
		}
		v.HalfWritten = v.HalfWritten || secrets.Writes(step)
		plan.Refuse(&v.State, step)
		if v.Skipped == nil {
			v.Skipped = err
		}
	}
}
