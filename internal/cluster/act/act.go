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
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Act does the one effect of a step. It is idempotent: done twice, it is done once.
func (a *Actor) Act(ctx context.Context, v *view.View, step steps.Step) error {
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
	case steps.AddLearner, steps.PromoteLearner, steps.RemoveMember, steps.MoveLeader, steps.EnableDowngrade, steps.CancelDowngrade,
		steps.CompactHistory, steps.DefragmentMember, steps.DisarmAlarm, steps.FenceWrites, steps.UnfenceWrites, steps.ChangeAccounts:
		return a.etcd.actOnEtcd(ctx, v, step)
	case steps.CreateMembers, steps.CreateMember, steps.ReleaseMember, steps.AddToService, steps.RemoveFromService, steps.RelabelPod, steps.ForbidEmptyStart, steps.ResizePod, steps.LoadCertificates, steps.PromoteStandby, steps.DeletePod,
		steps.ForceDeletePod, steps.StopMembers:
		return a.pods.actOnPods(ctx, v, step)
	case steps.RestoreLabels:
		return a.pods.restoreLabels(ctx, v, step)
	case steps.CreateVolumes, steps.KeepVolume, steps.ResizeVolume, steps.SetAsideVolume, steps.UnmarkVolume, steps.DeleteVolume, steps.RecordForcing, steps.RecordForced:
		return a.volumes.actOnVolumes(ctx, v, step)
	case steps.CreateCA, steps.ReplaceCA, steps.RemovePreviousCA, steps.HandOutCA, steps.RequestCertificates, steps.WriteCertificates, steps.WriteUserCertificates, steps.RequestUserCertificates, steps.WithdrawUserCertificates:
		return a.certificates.actOnCertificates(ctx, v, step)
	case steps.ApplyServices:
		return a.Objects.applyServices(ctx, v, step)
	case steps.ApplyMetadata:
		return a.applyMetadata(ctx, v, step)
	case steps.ApplyBudget:
		return a.apply(ctx, v, objects.DisruptionBudget(v.State, step))
	case steps.WithdrawBudget:
		return a.delete(ctx, v, &policyv1.PodDisruptionBudget{}, v.Name)
	case steps.ApplyNetworkPolicy:
		return a.Objects.applyNetworkPolicy(ctx, v, step)
	case steps.WithdrawNetworkPolicy:
		return a.delete(ctx, v, &networkingv1.NetworkPolicy{}, v.Name)
	case steps.Done, steps.Idle, steps.Wait, steps.AwaitResize, steps.Hibernating, steps.VolumeMayFill, steps.Advice:
		return nil // there is nothing to do
	case steps.AnnounceAccounts, steps.AnnounceUserCertificates, steps.BeginBootstrap, steps.BeginRemoval, steps.RecordFormed, steps.RecordPromotion, steps.RecordVersionChange, steps.EndDefragmentation,
		steps.BeginRestore, steps.AwaitSafetySnapshot, steps.BeginSwitch, steps.ReturnToSeeding, steps.AdoptSeed, steps.CompleteRestore, steps.FailRestore,
		steps.BeginRecovery, steps.CancelRecovery, steps.CompleteRecovery:
		return nil // the effect is in the status
	default:
		return fmt.Errorf("unknown step %T", step)
	}
}
