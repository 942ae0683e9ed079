package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

const gi = int64(1) << 30

func volumesOf(size string) change {
	return policy(v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}})
}

func holds(asked, capacity int64) func(*state.Member) {
	return func(m *state.Member) { m.VolumeSize, m.VolumeCapacity = asked*gi, capacity*gi }
}

func volumeRefused(m *state.Member) { m.VolumeRefused = "exceeded quota" }

// fileSystemPending: the file system has waited for a new Pod since that long ago, and the Pod was created that long ago.
func fileSystemPending(since, pod time.Duration) func(*state.Member) {
	return func(m *state.Member) {
		m.FileSystemPendingSince, m.PodCreated = noon.Add(-since), noon.Add(-pod)
	}
}

func retained(s *state.State) {
	s.Spec.VolumeRetention = &v1beta2.VolumeRetentionPolicy{WhenDeleted: v1beta2.RetainVolumes}
}

func kept(m *state.Member) { m.VolumeKept = true }

func TestPlanVolumes(t *testing.T) {
	fixed := func(m *state.Member) { m.VolumeFixed = true }
	infeasible := func(m *state.Member) { m.VolumeProblem = "ControllerResizeInfeasible" }
	planTests{
		"grows one volume": {
			stateWith(formed, members(2), size(2), volumesOf("16Gi"), with(0, holds(8, 8)), with(1, holds(8, 8))),
			steps.ResizeVolume{Name: nameOf(0), Size: "16Gi"},
		},
		"waits until one volume has grown before it grows the next": {
			stateWith(formed, members(2), size(2), volumesOf("16Gi"), with(0, holds(16, 8)), with(1, holds(8, 8))),
			steps.AwaitResize{Message: "Volume " + nameOf(0) + " is growing from 8Gi to 16Gi."},
		},
		"grows the next volume when the first has grown": {
			stateWith(formed, members(2), size(2), volumesOf("16Gi"), with(0, holds(16, 16)), with(1, holds(8, 8))),
			steps.ResizeVolume{Name: nameOf(1), Size: "16Gi"},
		},
		"is done if every volume has at least the size of the spec": {
			stateWith(formed, members(2), size(2), volumesOf("16Gi"), with(0, holds(16, 16)), with(1, holds(20, 20))), steps.Done{},
		},
		"reports what to do if the StorageClass does not let a volume grow": {
			stateWith(formed, members(1), size(1), volumesOf("16Gi"), with(0, holds(8, 8), fixed)),
			steps.Wait{
				Reason:  v1beta2.ReasonVolumeCannotGrow,
				Message: "The StorageClass of volume " + nameOf(0) + " does not allow it to grow to 16Gi. The members continue to serve. If the driver can grow volumes, set allowVolumeExpansion in the class. The operator checks it every 10s. Otherwise set the former spec.pod.persistentVolumeClaimSpec again.",
				Stalled: true, Requeue: state.RequeueSettled,
			},
		},
		"reports the problem of the driver": {
			stateWith(formed, members(1), size(1), volumesOf("16Gi"), with(0, holds(16, 8), infeasible)),
			steps.Wait{
				Reason:  v1beta2.ReasonVolumeCannotGrow,
				Message: "Volume " + nameOf(0) + " is growing from 8Gi to 16Gi. Its driver reports: ControllerResizeInfeasible. The members continue to serve. To request less, take resources out of spec.pod.persistentVolumeClaimSpec first.",
				Stalled: true, Requeue: state.RequeueSettled,
			},
		},
		"is done if the spec asks for the old size after the driver could not provide more": {
			stateWith(formed, members(1), size(1), volumesOf("8Gi"), with(0, holds(16, 8), infeasible)), steps.Done{},
		},
		"requests a smaller volume if the driver cannot provide the requested size": {
			stateWith(formed, members(1), size(1), volumesOf("12Gi"), with(0, holds(16, 8), infeasible)), steps.ResizeVolume{Name: nameOf(0), Size: "12Gi"},
		},
		"does not request a smaller volume while the driver is growing it": {
			stateWith(formed, members(1), size(1), volumesOf("12Gi"), with(0, holds(16, 8))), steps.AwaitResize{Message: "Volume " + nameOf(0) + " is growing from 8Gi to 16Gi."},
		},
		"grows a volume while another member starts": {
			stateWith(formed, members(3), volumesOf("16Gi"), with(0, holds(8, 8)), with(1, pod(state.PodStarting))),
			steps.ResizeVolume{Name: nameOf(0), Size: "16Gi"},
		},
		"grows the next volume before the first has grown if the members cannot start": {
			stateWith(formed, members(3), noQuorum, volumesOf("16Gi"), with(0, holds(16, 8), blockedBy(v1beta2.ReasonPodFailing)), with(1, holds(8, 8), blockedBy(v1beta2.ReasonPodFailing))),
			steps.ResizeVolume{Name: nameOf(1), Size: "16Gi"},
		},
		"grows a volume while paused": {
			stateWith(formed, members(3), volumesOf("16Gi"), with(0, holds(8, 8)), func(s *state.State) { s.Spec.Paused = true }),
			steps.ResizeVolume{Name: nameOf(0), Size: "16Gi"},
		},
		"does not grow a volume that is not bound yet": {
			stateWith(formed, members(3), volumesOf("16Gi"), with(0, holds(8, 0), pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(0) + " is starting."},
		},
		"does not grow volumes of members that it did not create": {
			stateWith(members(3), servicesFor(0, ""), volumesOf("16Gi"), with(0, holds(8, 8))),
			waits.ForeignMembers(stateWith(members(3), servicesFor(0, ""))),
		},
		"recreates a member while Kubernetes refuses to grow a volume": {
			stateWith(formed, members(3), volumesOf("16Gi"), with(0, holds(8, 8), volumeRefused), with(1, withoutPod)),
			steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"reports that Kubernetes refuses to grow a volume": {
			stateWith(formed, members(1), size(1), volumesOf("16Gi"), with(0, holds(8, 8), volumeRefused)),
			steps.Wait{
				Reason:  v1beta2.ReasonVolumeCannotGrow,
				Message: "Kubernetes refuses to grow volume " + nameOf(0) + " to 16Gi: exceeded quota. The members keep the volumes that they have. Remove the cause, or set the former spec.pod.persistentVolumeClaimSpec again. The operator tries again every 5m0s.",
				Stalled: true, Requeue: state.RequeueSettled,
			},
		},
		"restarts a member that cannot start if its file system grows only with a new Pod": {
			stateWith(formed, members(3), noQuorum, volumesOf("16Gi"), with(0, holds(16, 8), blockedBy(v1beta2.ReasonPodFailing), unreadyFor(time.Hour), fileSystemPending(2*time.Minute, time.Hour))),
			steps.DeletePod{Name: nameOf(0), Reason: v1beta2.ReasonResizingVolume, Message: "it does not serve, and the file system of its larger volume grows when its Pod restarts"},
		},
		"does not restart a member again whose Pod is newer than the pending growth": {
			stateWith(formed, members(3), volumesOf("16Gi"), with(0, holds(16, 8), blockedBy(v1beta2.ReasonPodFailing), unreadyFor(2*time.Minute), fileSystemPending(5*time.Minute, 2*time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + nameOf(0) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"warns that a volume can become full before the quota is reached": {
			stateWith(formed, members(1), size(1), volumesOf("3Gi"), with(0, holds(3, 3))),
			steps.VolumeMayFill{Name: nameOf(0), Message: "Volume " + nameOf(0) + " of 3Gi can become full before the database reaches its space quota of 2Gi: that needs about 3584Mi. A member whose volume is full cannot start. Raise spec.pod.persistentVolumeClaimSpec.resources.requests.storage, or lower spec.etcd.quotaBackendBytes."},
		},
		"warns of a volume that is nearly full": {
			stateWith(formed, members(1), size(1), volumesOf("8Gi"), with(0, holds(8, 8), func(m *state.Member) { m.DBSize, m.DBQuota = 7*gi+1, 16*gi })),
			steps.VolumeMayFill{Name: nameOf(0), Message: "Volume " + nameOf(0) + " of 8Gi is nearly full: the database has more than half of it, and the logs of etcd need about 1Gi. A member whose volume is full cannot start. Raise spec.pod.persistentVolumeClaimSpec.resources.requests.storage."},
		},
		"marks a volume to outlive the EtcdCluster if the spec retains volumes": {
			stateWith(formed, members(3), retained, with(0, kept)), steps.KeepVolume{Name: nameOf(1), Keep: true},
		},
		"lets a volume be deleted with the EtcdCluster if the spec does not retain volumes": {
			stateWith(formed, members(3), with(2, kept)), steps.KeepVolume{Name: nameOf(2)},
		},
		"marks a volume to outlive the EtcdCluster while quorum is lost": {
			stateWith(formed, members(3), retained, noQuorum), steps.KeepVolume{Name: nameOf(0), Keep: true},
		},
	}.run(t)
}
