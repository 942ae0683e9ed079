package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

type (
	// KeepVolume lets a volume outlive its EtcdCluster, or go with it.
	KeepVolume struct {
		Name string
		Keep bool
	}
	// ResizeVolume asks for a larger volume. Size is a quantity.
	ResizeVolume struct{ Name, Size string }
	// AwaitResize says that a volume has yet to become as large as was asked for.
	AwaitResize struct{ Message string }
)

func (KeepVolume) Reason() string           { return v1beta2.ReasonSettling }
func (ResizeVolume) Reason() string         { return v1beta2.ReasonResizingVolume }
func (AwaitResize) Reason() string          { return v1beta2.ReasonResizingVolume }
func (KeepVolume) Requeue() time.Duration   { return soon }
func (ResizeVolume) Requeue() time.Duration { return soon }
func (AwaitResize) Requeue() time.Duration  { return pollSettled } // the claim is watched
func (s AwaitResize) message(State) string  { return s.Message }
func (s ResizeVolume) message(State) string { return "asking volume " + s.Name + " to hold " + s.Size }
func (s KeepVolume) message(State) string {
	if s.Keep {
		return "letting volume " + s.Name + " outlive the EtcdCluster"
	}
	return "letting volume " + s.Name + " go with the EtcdCluster"
}

// retention writes down at every volume what becomes of it when the EtcdCluster is deleted: then it is too late.
func retention(s State) Step {
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
			Why: v1beta2.ReasonVolumeCannotGrow,
			Message: fmt.Sprintf("the StorageClass of volume %s does not allow volumes to grow to %s: set allowVolumeExpansion there, if its driver can (it is looked at again every %s), or set spec.pod.persistentVolumeClaimSpec back; the members go on serving",
				small.Name, want.String(), pollSettled),
			Stalled: true, Pace: pollSettled,
		}
	}
	return ResizeVolume{Name: small.Name, Size: want.String()}
}

func (s State) awaitResize(m Member) Step {
	message := fmt.Sprintf("volume %s grows from %s to %s", m.Name, bytesOf(m.VolumeCapacity), bytesOf(m.VolumeSize))
	if m.VolumeProblem != "" {
		message += ", and its driver says: " + m.VolumeProblem + "; to ask for less, take resources out of spec.pod.persistentVolumeClaimSpec first; the members go on serving"
		return Wait{Why: v1beta2.ReasonVolumeCannotGrow, Message: message, Stalled: true, Pace: pollSettled}
	}
	return AwaitResize{Message: message}
}

func bytesOf(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
