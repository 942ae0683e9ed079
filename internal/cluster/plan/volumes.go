package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// KeepVolume lets a volume outlive its EtcdCluster, or be deleted with it.
type KeepVolume struct {
	Name string
	Keep bool
}

func (step KeepVolume) describe(State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonSettling, Requeue: requeueSoon}
	if step.Keep {
		d.Message = "The operator is marking volume " + step.Name + " to be kept when the EtcdCluster is deleted."
	} else {
		d.Message = "The operator is marking volume " + step.Name + " to be deleted with the EtcdCluster."
	}
	return d
}

// setRetention writes down at every volume what becomes of it when the EtcdCluster is deleted: then it is too late.
func setRetention(s State) Step {
	for _, m := range s.Members {
		if m.Volume == VolumePresent && m.VolumeKept != s.Spec.RetainsVolumes() {
			return KeepVolume{Name: m.Name, Keep: s.Spec.RetainsVolumes()}
		}
	}
	return nil
}

var defaultStorage = resource.MustParse(v1beta2.DefaultMemberStorage)

// StorageRequest is how large a member's volume is to be.
func (s State) StorageRequest() resource.Quantity {
	if given := s.PodPolicy().PersistentVolumeClaimSpec; given != nil {
		if size, ok := given.Resources.Requests[corev1.ResourceStorage]; ok {
			return size
		}
	}
	return defaultStorage
}

// growVolumes grows one volume after the other, while the cluster is well. A volume that holds more than asked for is
// as good: volumes cannot shrink. One that was asked for more than its driver has may be asked for less, as long as
// that is more than it holds: Kubernetes allows no other way back.
func growVolumes(s State) Step {
	want := s.StorageRequest()
	var small *Member
	for _, m := range s.Current() {
		switch {
		case m.Volume != VolumePresent || m.VolumeSize == 0:
		case m.VolumeSize < want.Value():
			if small == nil {
				small = &m
			}
		case m.VolumeCapacity == 0 || m.VolumeCapacity >= want.Value():
		case m.VolumeProblem != "" && m.VolumeSize > want.Value():
			return ResizeVolume{Name: m.Name, Size: want.String()}
		case m.VolumeCapacity < m.VolumeSize:
			return s.awaitResize(m)
		}
	}
	switch {
	case small == nil:
		return nil
	case small.VolumeFixed:
		return Wait{
			Reason: v1beta2.ReasonVolumeCannotGrow,
			Message: fmt.Sprintf("The StorageClass of volume %s does not allow it to grow to %s. The members continue to serve. "+
				"If the driver can grow volumes, set allowVolumeExpansion in the class. The operator checks it every %s. "+
				"Otherwise set spec.pod.persistentVolumeClaimSpec back.",
				small.Name, want.String(), requeueSettled),
			Stalled: true, Requeue: requeueSettled,
		}
	}
	return ResizeVolume{Name: small.Name, Size: want.String()}
}

// ResizeVolume asks for a larger volume. Size is a quantity.
type ResizeVolume struct{ Name, Size string }

func (step ResizeVolume) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonResizingVolume,
		Message: "The operator is growing volume " + step.Name + " to " + step.Size + ".",
		Requeue: requeueSoon,
	}, "GrowingVolume", planning.Volume(step.Name))
}

// AwaitResize says that a volume is not yet as large as was asked for. The claim is watched.
type AwaitResize struct{ Message string }

func (step AwaitResize) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonResizingVolume,
		Message: step.Message,
		Requeue: requeueSettled,
	}
}

func (s State) awaitResize(m Member) Step {
	message := fmt.Sprintf("Volume %s is growing from %s to %s.", m.Name, bytesOf(m.VolumeCapacity), bytesOf(m.VolumeSize))
	if m.VolumeProblem != "" {
		message += planning.Sentence(" Its driver reports: ", m.VolumeProblem) +
			" The members continue to serve. To request less, take resources out of spec.pod.persistentVolumeClaimSpec first."
		return Wait{Reason: v1beta2.ReasonVolumeCannotGrow, Message: message, Stalled: true, Requeue: requeueSettled}
	}
	return AwaitResize{Message: message}
}

func bytesOf(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
