// Package act carries out the one effect of a step.
package act

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/confirm"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Act does the one effect of a step. It is idempotent: done twice, it is done once.
func (a *Actor) Act(ctx context.Context, v *view.View, step plan.Step) error {
	if err := confirm.Asked(v, step); err != nil {
		return err
	}
	if err := a.confirmer.Confirm(ctx, v, step); err != nil {
		return err
	}
	if err := a.confirmer.ConfirmData(ctx, v, step); err != nil {
		return err
	}
	if err := a.confirmer.Times.ConfirmClock(ctx, v, step); err != nil {
		return err
	}
	if err := a.brake.Begin(client.ObjectKeyFromObject(v.Cluster), step, v.Now); err != nil {
		return err
	}
	switch step := step.(type) {
	case plan.AddLearner, plan.PromoteLearner, plan.RemoveMember, plan.MoveLeader, plan.EnableDowngrade, plan.CancelDowngrade,
		plan.CompactHistory, plan.DefragmentMember, plan.DisarmAlarm, plan.FenceWrites, plan.UnfenceWrites:
		return a.etcd.actOnEtcd(ctx, v, step)
	case plan.CreateMembers, plan.CreateMember, plan.ReleaseMember, plan.AddToService, plan.RemoveFromService, plan.RelabelPod, plan.ForbidEmptyStart, plan.ResizePod, plan.LoadCertificates, plan.DeletePod,
		plan.ForceDeletePod, plan.StopMembers:
		return a.pods.actOnPods(ctx, v, step)
	case plan.RestoreLabels:
		return a.pods.restoreLabels(ctx, v, step)
	case plan.CreateVolumes, plan.KeepVolume, plan.ResizeVolume, plan.SetAsideVolume, plan.UnmarkVolume, plan.DeleteVolume, plan.RecordForcing, plan.RecordForced:
		return a.volumes.actOnVolumes(ctx, v, step)
	case plan.CreateCA, plan.ReplaceCA, plan.RemovePreviousCA, plan.RequestCertificates, plan.WriteCertificates:
		return a.certificates.actOnCertificates(ctx, v, step)
	case plan.ApplyServices:
		return a.Objects.applyServices(ctx, v, step)
	case plan.ApplyMetadata:
		return a.applyMetadata(ctx, v, step)
	case plan.ApplyBudget:
		return a.apply(ctx, v, objects.DisruptionBudget(v.State, step))
	case plan.WithdrawBudget:
		return a.delete(ctx, v, &policyv1.PodDisruptionBudget{}, v.Name)
	case plan.ApplyNetworkPolicy:
		return a.Objects.applyNetworkPolicy(ctx, v, step)
	case plan.WithdrawNetworkPolicy:
		return a.delete(ctx, v, &networkingv1.NetworkPolicy{}, v.Name)
	case plan.Done, plan.Idle, plan.Wait, plan.AwaitResize, plan.Hibernating, plan.VolumeMayFill, plan.Advice:
		return nil // there is nothing to do
	case plan.BeginBootstrap, plan.BeginRemoval, plan.RecordFormed, plan.RecordPromotion, plan.RecordVersionChange, plan.EndDefragmentation,
		plan.BeginRestore, plan.AwaitSafetySnapshot, plan.BeginSwitch, plan.ReturnToSeeding, plan.AdoptSeed, plan.CompleteRestore, plan.FailRestore,
		plan.BeginRecovery, plan.CancelRecovery, plan.CompleteRecovery:
		return nil // the effect is in the status
	default:
		return fmt.Errorf("unknown step %T", step)
	}
}
