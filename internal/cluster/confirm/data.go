package confirm

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// ConfirmData reads past the cache whether data that a step takes to be missing is missing: of a member that is to be
// removed for that, and of one that is to be added under a new name. It also reads whether a Pod that is to be deleted
// because it cannot run runs by now, whether the Pods are ready that count in place of an answer, whether old members run beside a seed, and what the client Service selects: if the status is
// lost, the Service still tells that a cluster has formed.
func (c *Confirmer) ConfirmData(ctx context.Context, v *view.View, step steps.Step) error {
	switch step := step.(type) {
	case steps.RemoveMember:
		if step.DataGone() && v.Durable() {
			if err := c.confirmAbsent(ctx, v, &corev1.PersistentVolumeClaim{}, step.Name); err != nil {
				return err
			}
		}
		if step.Unresponsive() || step.DataGone() {
			return c.confirmNotReady(ctx, v, step)
		}
	case steps.BeginRecovery:
		return c.confirmLost(ctx, v)
	case steps.ApplyServices, steps.CreateMembers:
		return c.confirmService(ctx, v)
	case steps.DeletePod:
		if err := c.confirmNotRunning(ctx, v, step.Name); err != nil {
			return err
		}
		return c.confirmReadiness(ctx, v, step)
	case steps.DeleteVolume:
		if err := c.Times.ConfirmOver(ctx, v, step.Name); err != nil {
			return err
		}
		return confirmNotRestored(ctx, c.Lists, v, step.Name)
	case steps.CreateMember:
		if step.Waits {
			return c.confirmUnused(ctx, v, step.Name)
		}
		if step.Start == state.StartRejoin || step.Start == state.StartForce {
			return c.confirmSameVolume(ctx, v, step.Name)
		}
	case steps.AddLearner:
		if m, _ := state.Find(v.State, step.Name); m.Waits {
			return c.confirmWaits(ctx, v, step.Name)
		}
		if err := c.confirmFree(ctx, v, &corev1.PersistentVolumeClaim{}, step.Name); err != nil {
			return err
		}
		return c.confirmFree(ctx, v, &corev1.Pod{}, step.Name)
	}
	return c.confirmStepOfRestore(ctx, v, step)
}
