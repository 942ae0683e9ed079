package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

const gi = int64(1) << 30

func volumesOf(size string) change {
	return policy(v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}})
}

func holds(asked, capacity int64) func(*Member) {
	return func(m *Member) { m.VolumeSize, m.VolumeCapacity = asked*gi, capacity*gi }
}

func retained(s *State) {
	s.Spec.VolumeRetention = &v1beta2.VolumeRetentionPolicy{WhenDeleted: v1beta2.RetainVolumes}
}

func kept(m *Member) { m.VolumeKept = true }

func TestPlanVolumes(t *testing.T) {
	fixed := func(m *Member) { m.VolumeFixed = true }
	infeasible := func(m *Member) { m.VolumeProblem = "ControllerResizeInfeasible" }
	planTests{
		"grows one volume": {
			state(formed, members(2), size(2), volumesOf("16Gi"), with(0, holds(8, 8)), with(1, holds(8, 8))),
			ResizeVolume{Name: nameOf(0), Size: "16Gi"},
		},
		"waits until it has grown before it touches the next": {
			state(formed, members(2), size(2), volumesOf("16Gi"), with(0, holds(16, 8)), with(1, holds(8, 8))),
			AwaitResize{Message: "Volume " + nameOf(0) + " is growing from 8Gi to 16Gi."},
		},
		"goes on with the next": {
			state(formed, members(2), size(2), volumesOf("16Gi"), with(0, holds(16, 16)), with(1, holds(8, 8))),
			ResizeVolume{Name: nameOf(1), Size: "16Gi"},
		},
		"is done when all have grown, be it more than was asked for": {
			state(formed, members(2), size(2), volumesOf("16Gi"), with(0, holds(16, 16)), with(1, holds(20, 20))), Done{},
		},
		"says what to do where the class does not let it": {
			state(formed, members(1), size(1), volumesOf("16Gi"), with(0, holds(8, 8), fixed)),
			Wait{
				Reason:  v1beta2.ReasonVolumeCannotGrow,
				Message: "The StorageClass of volume " + nameOf(0) + " does not allow it to grow to 16Gi. The members continue to serve. If the driver can grow volumes, set allowVolumeExpansion in the class. The operator checks it every 10s. Otherwise set spec.pod.persistentVolumeClaimSpec back.",
				Stalled: true, Requeue: requeueSettled,
			},
		},
		"says what the driver says": {
			state(formed, members(1), size(1), volumesOf("16Gi"), with(0, holds(16, 8), infeasible)),
			Wait{
				Reason:  v1beta2.ReasonVolumeCannotGrow,
				Message: "Volume " + nameOf(0) + " is growing from 8Gi to 16Gi. Its driver reports: ControllerResizeInfeasible. The members continue to serve. To request less, take resources out of spec.pod.persistentVolumeClaimSpec first.",
				Stalled: true, Requeue: requeueSettled,
			},
		},
		"is done when no more is asked for, though a volume was asked for what its driver has not": {
			state(formed, members(1), size(1), volumesOf("8Gi"), with(0, holds(16, 8), infeasible)), Done{},
		},
		"asks for less where the driver has not what was asked for": {
			state(formed, members(1), size(1), volumesOf("12Gi"), with(0, holds(16, 8), infeasible)), ResizeVolume{Name: nameOf(0), Size: "12Gi"},
		},
		"does not ask for less while the driver is at it": {
			state(formed, members(1), size(1), volumesOf("12Gi"), with(0, holds(16, 8))), AwaitResize{Message: "Volume " + nameOf(0) + " is growing from 8Gi to 16Gi."},
		},
		"does not grow volumes of a cluster that is not well": {
			state(formed, members(3), volumesOf("16Gi"), with(0, holds(8, 8)), with(1, pod(PodStarting))),
			Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"lets volumes outlive the EtcdCluster": {
			state(formed, members(3), retained, with(0, kept)), KeepVolume{Name: nameOf(1), Keep: true},
		},
		"lets them go with it again": {
			state(formed, members(3), with(2, kept)), KeepVolume{Name: nameOf(2)},
		},
		"lets them outlive it while quorum is lost": {
			state(formed, members(3), retained, noQuorum), KeepVolume{Name: nameOf(0), Keep: true},
		},
	}.run(t)
}
