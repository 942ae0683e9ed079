package confirm

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Asked fails if a step must not be taken on what a silent member answered to an earlier pass. Steps that create or
// correct objects may: a person who deletes a Pod does not wait for a member that hangs.
func Asked(v *view.View, step plan.Step) error {
	if !v.Remembered || !plan.Acts(step) {
		return nil
	}
	switch step := step.(type) {
	case plan.CreateVolumes, plan.CreateMembers, plan.ApplyBudget, plan.WithdrawBudget, plan.ApplyNetworkPolicy, plan.WithdrawNetworkPolicy, plan.AddToService, plan.RelabelPod, plan.ApplyMetadata, plan.LoadCertificates,
		plan.KeepVolume, plan.ResizeVolume, plan.CreateCA, plan.RequestCertificates, plan.WriteCertificates, plan.VolumeMayFill, plan.Advice:
		return nil
	case plan.CreateMember, plan.ApplyServices, plan.ForceDeletePod:
		if !plan.Irreversible(v.State, step) {
			return nil
		}
	}
	return view.ErrRemembered
}
