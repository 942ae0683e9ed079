package volumes_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func volumeRefused(m *state.Member) { m.VolumeRefused = "exceeded quota" }

func TestPlanVolumes(t *testing.T) {
	fixed := func(m *state.Member) { m.VolumeFixed = true }
	infeasible := func(m *state.Member) { m.VolumeProblem = "ControllerResizeInfeasible" }
	plantest.Plans{
		"grows one volume": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Size(2), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(8, 8)), plantest.With(1, plantest.Holds(8, 8))),
			steps.ResizeVolume{Name: plantest.NameOf(0), Size: "16Gi"},
		},
		"waits until one volume has grown before it grows the next": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Size(2), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(16, 8)), plantest.With(1, plantest.Holds(8, 8))),
			steps.AwaitResize{Message: "Volume " + plantest.NameOf(0) + " is growing from 8Gi to 16Gi."},
		},
		"grows the next volume when the first has grown": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Size(2), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(16, 16)), plantest.With(1, plantest.Holds(8, 8))),
			steps.ResizeVolume{Name: plantest.NameOf(1), Size: "16Gi"},
		},
		"is done if every volume has at least the size of the spec": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Size(2), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(16, 16)), plantest.With(1, plantest.Holds(20, 20))), steps.Done{},
		},
		"reports what to do if the StorageClass does not let a volume grow": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(8, 8), fixed)),
			steps.Wait{
				Reason:  v1beta2.ReasonVolumeCannotGrow,
				Message: "The StorageClass of volume " + plantest.NameOf(0) + " does not allow it to grow to 16Gi. The members continue to serve. If the driver can grow volumes, set allowVolumeExpansion in the class. The operator checks it every 10s. Otherwise set the former spec.pod.persistentVolumeClaimSpec again.",
				Stalled: true, Requeue: state.RequeueSettled,
			},
		},
		"reports the problem of the driver": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(16, 8), infeasible)),
			steps.Wait{
				Reason:  v1beta2.ReasonVolumeCannotGrow,
				Message: "Volume " + plantest.NameOf(0) + " is growing from 8Gi to 16Gi. Its driver reports: ControllerResizeInfeasible. The members continue to serve. To request less, take resources out of spec.pod.persistentVolumeClaimSpec first.",
				Stalled: true, Requeue: state.RequeueSettled,
			},
		},
		"is done if the spec asks for the old size after the driver could not provide more": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.VolumesOf("8Gi"), plantest.With(0, plantest.Holds(16, 8), infeasible)), steps.Done{},
		},
		"requests a smaller volume if the driver cannot provide the requested size": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.VolumesOf("12Gi"), plantest.With(0, plantest.Holds(16, 8), infeasible)), steps.ResizeVolume{Name: plantest.NameOf(0), Size: "12Gi"},
		},
		"does not request a smaller volume while the driver is growing it": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.VolumesOf("12Gi"), plantest.With(0, plantest.Holds(16, 8))), steps.AwaitResize{Message: "Volume " + plantest.NameOf(0) + " is growing from 8Gi to 16Gi."},
		},
		"grows a volume while another member starts": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(8, 8)), plantest.With(1, plantest.Pod(state.PodStarting))),
			steps.ResizeVolume{Name: plantest.NameOf(0), Size: "16Gi"},
		},
		"grows the next volume before the first has grown if the members cannot start": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(16, 8), plantest.BlockedBy(v1beta2.ReasonPodFailing)), plantest.With(1, plantest.Holds(8, 8), plantest.BlockedBy(v1beta2.ReasonPodFailing))),
			steps.ResizeVolume{Name: plantest.NameOf(1), Size: "16Gi"},
		},
		"grows a volume while paused": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(8, 8)), func(s *state.State) { s.Spec.Paused = true }),
			steps.ResizeVolume{Name: plantest.NameOf(0), Size: "16Gi"},
		},
		"does not grow a volume that is not bound yet": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(8, 0), plantest.Pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(0) + " is starting."},
		},
		"does not grow volumes of members that it did not create": {
			plantest.StateWith(plantest.Members(3), plantest.ServicesFor(0, ""), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(8, 8))),
			waits.ForeignMembers(plantest.StateWith(plantest.Members(3), plantest.ServicesFor(0, ""))),
		},
		"recreates a member while Kubernetes refuses to grow a volume": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(8, 8), volumeRefused), plantest.With(1, plantest.WithoutPod)),
			steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"reports that Kubernetes refuses to grow a volume": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(8, 8), volumeRefused)),
			steps.Wait{
				Reason:  v1beta2.ReasonVolumeCannotGrow,
				Message: "Kubernetes refuses to grow volume " + plantest.NameOf(0) + " to 16Gi: exceeded quota. The members keep the volumes that they have. Remove the cause, or set the former spec.pod.persistentVolumeClaimSpec again. The operator tries again every 5m0s.",
				Stalled: true, Requeue: state.RequeueSettled,
			},
		},
		"restarts a member that cannot start if its file system grows only with a new Pod": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(16, 8), plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.UnreadyFor(time.Hour), plantest.FileSystemPending(2*time.Minute, time.Hour))),
			steps.DeletePod{Name: plantest.NameOf(0), Reason: v1beta2.ReasonResizingVolume, Message: "it does not serve, and the file system of its larger volume grows when its Pod restarts"},
		},
		"does not restart a member again whose Pod is newer than the pending growth": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.VolumesOf("16Gi"), plantest.With(0, plantest.Holds(16, 8), plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.UnreadyFor(2*time.Minute), plantest.FileSystemPending(5*time.Minute, 2*time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + plantest.NameOf(0) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"warns that a volume can become full before the quota is reached": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.VolumesOf("3Gi"), plantest.With(0, plantest.Holds(3, 3))),
			steps.VolumeMayFill{Name: plantest.NameOf(0), Message: "Volume " + plantest.NameOf(0) + " of 3Gi can become full before the database reaches its space quota of 2Gi: that needs about 3584Mi. A member whose volume is full cannot start. Raise spec.pod.persistentVolumeClaimSpec.resources.requests.storage, or lower spec.etcd.quotaBackendBytes."},
		},
		"warns of a volume that is nearly full": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.VolumesOf("8Gi"), plantest.With(0, plantest.Holds(8, 8), func(m *state.Member) { m.DBSize, m.DBQuota = 7*plantest.Gi+1, 16*plantest.Gi })),
			steps.VolumeMayFill{Name: plantest.NameOf(0), Message: "Volume " + plantest.NameOf(0) + " of 8Gi is nearly full: the database has more than half of it, and the logs of etcd need about 1Gi. A member whose volume is full cannot start. Raise spec.pod.persistentVolumeClaimSpec.resources.requests.storage."},
		},
		"marks a volume to outlive the EtcdCluster if the spec retains volumes": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Retained, plantest.With(0, plantest.Kept)), steps.KeepVolume{Name: plantest.NameOf(1), Keep: true},
		},
		"lets a volume be deleted with the EtcdCluster if the spec does not retain volumes": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.Kept)), steps.KeepVolume{Name: plantest.NameOf(2)},
		},
		"marks a volume to outlive the EtcdCluster while quorum is lost": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Retained, plantest.NoQuorum), steps.KeepVolume{Name: plantest.NameOf(0), Keep: true},
		},
	}.Run(t, plan.Plan)
}

// A user who is warned without need raises the request of a volume for nothing, and one who is not warned in time has members that cannot start.
func TestAVolumeIsCalledTooSmallOnlyIfItsSizeAndTheQuotaAreKnown(t *testing.T) {
	const gib = int64(1) << 30
	for name, test := range map[string]struct {
		there                 state.VolumeState
		capacity, size, quota int64
		warns                 bool
	}{
		"it is too small for the quota":             {state.VolumePresent, 8 * gib, gib, 8 * gib, true},
		"it is large enough":                        {state.VolumePresent, 11 * gib, gib, 8 * gib, false},
		"it is exactly large enough":                {state.VolumePresent, 11 * gib, gib, 8 * gib, false},
		"its size is not known":                     {state.VolumePresent, 0, gib, 8 * gib, false},
		"the quota is not known":                    {state.VolumePresent, gib / 2, gib / 8, 0, false},
		"it is not there":                           {state.VolumeNone, 8 * gib, gib, 8 * gib, false},
		"the database has more than half of it":     {state.VolumePresent, 2 * gib, gib + 1, gib / 2, true},
		"the database has half of it":               {state.VolumePresent, 2 * gib, gib, gib / 2, false},
		"the database fits with the logs beside it": {state.VolumePresent, 4 * gib, 3 * gib, gib / 2, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3))
		for i := range s.Members {
			s.Members[i].Volume, s.Members[i].VolumeCapacity, s.Members[i].DBSize, s.Members[i].PodQuota = test.there, test.capacity, test.size, &test.quota
		}
		if step := volumes.WarnOfFullVolumes(s); (step != nil) != test.warns {
			t.Errorf("%s: %+v", name, step)
		}
	}
}
