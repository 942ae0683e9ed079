package confirm

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Asked fails if a step must not be taken on what a silent member answered to an earlier pass. Steps that create or
// correct objects may: a person who deletes a Pod does not wait for a member that hangs.
func Asked(v *view.View, step steps.Step) error {
	if !v.Remembered || !steps.Acts(step) {
		return nil
	}
	switch step := step.(type) {
	case steps.CreateVolumes, steps.CreateMembers, steps.ApplyBudget, steps.WithdrawBudget, steps.ApplyNetworkPolicy, steps.WithdrawNetworkPolicy, steps.AddToService, steps.RelabelPod, steps.ApplyMetadata, steps.LoadCertificates,
		steps.KeepVolume, steps.ResizeVolume, steps.CreateCA, steps.RequestCertificates, steps.WriteCertificates, steps.VolumeMayFill, steps.Advice:
		return nil
	case steps.CreateMember, steps.ApplyServices, steps.ForceDeletePod:
		if !steps.Irreversible(v.State, step) {
			return nil
		}
	}
	return view.ErrRemembered
}
