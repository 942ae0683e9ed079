package confirm

import (
	"context"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// ConfirmOld reads past the cache the Pods of the members that a seed replaces. It fails if they may acknowledge writes beside the
// seed. An old cache may show that they do not run.
func (c *Confirmer) ConfirmOld(ctx context.Context, v *view.View, step steps.Step) error {
	running, err := c.LivePods(ctx, v)
	if err != nil {
		return err
	}
	live := v.State
	live.Members = nil
	for _, m := range v.Members { // one without a Pod counts among the voters
		live.Members = append(live.Members, m.WithoutPod())
	}
	for i := range running {
		pod := &running[i]
		if !v.Owns(pod) {
			continue
		}
		at := slices.IndexFunc(live.Members, func(m state.Member) bool { return m.Name == pod.Name })
		if at < 0 {
			at = len(live.Members)
			live.Members = append(live.Members, state.Member{Name: pod.Name, Incarnation: pods.IncarnationOf(v.State, pod)})
		}
		pods.ObservePod(&live.Members[at], pod, v.Now)
	}
	if why := restore.InTheWay(live, step); why != "" {
		return fmt.Errorf("%s: %w", why, view.ErrBehind)
	}
	if _, is := step.(steps.BeginSwitch); is {
		return c.Rehearsals.RehearseStops(ctx, v, running)
	}
	return nil
}
