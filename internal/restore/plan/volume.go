package plan

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// volumeAgain is when a claim is read again that cannot be used.
const volumeAgain = 15 * time.Second

// volumeIsNotReady hands a volume to the seed that no other Pod uses. The seed reads and verifies it, because only a Pod in the namespace can.
func volumeIsNotReady(s state.State) steps.Step {
	asked, found := s.Restore.Spec.Volume, s.Volume
	if asked == nil || s.Proven() {
		return nil
	}
	wait := func(reason, message string) steps.Step {
		return steps.Wait{Reason: reason, Message: message + " The cluster was not changed.", Failure: true, Stalled: true, Requeue: volumeAgain}
	}
	accept := steps.Accept{Volume: &v1beta2.RestoreVolumeStatus{RestoreVolume: *asked}}
	if found != nil {
		accept.Volume.ClaimUID, accept.Volume.Size = found.UID, found.Size
	}
	if progress := s.Progress(); progress != nil {
		if began := progress.Volume; began != nil && began.ClaimUID != accept.Volume.ClaimUID { // another claim may have its name now
			accept.Volume.ClaimUID, accept.Volume.Size = began.ClaimUID, 0
		}
		return accept // the cluster has begun, so the status was lost. The seed is the Pod that uses the claim, and the user may have deleted it since
	}
	claim := "PersistentVolumeClaim " + asked.ClaimName
	switch {
	case found == nil || found.UID == "":
		return wait(v1beta2.ReasonClaimNotFound, fmt.Sprintf("There is no %s in namespace %s.", claim, s.Restore.Namespace))
	case found.Lost:
		return wait(v1beta2.ReasonClaimNotFound, claim+" has lost its PersistentVolume, so its data is not there.")
	case found.Deleting:
		return wait(v1beta2.ReasonClaimNotFound, claim+" is being deleted.")
	case found.MemberOf != "":
		return wait(v1beta2.ReasonClaimInUse, fmt.Sprintf("%s is the volume of a member of EtcdCluster %s, which may write to it at any time. Restore a backup of that cluster instead. If it is a copy, remove its label "+v1beta2.LabelCluster+".", claim, found.MemberOf))
	case found.UsedBy != "":
		return wait(v1beta2.ReasonClaimInUse, fmt.Sprintf("Pod %s uses %s, and may write to it. Stop the Pod, for example by scaling its StatefulSet to 0. The operator looks again every %s.", found.UsedBy, claim, volumeAgain))
	}
	return accept
}
