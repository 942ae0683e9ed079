package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

const noClassMessage = "Kubernetes has no default StorageClass, so a member gets no volume and does not start. " +
	"Mark a class as the default, or name one in spec.pod.persistentVolumeClaimSpec.storageClassName. " +
	"For tests, set spec.pod.emptyDir: {} and accept that data is lost with its Pod."

func TestPlanBirth(t *testing.T) {
	started := func(m *Member) {
		onVolume(m)
		m.Start = StartNew
	}
	planTests{
		"starts over without volumes when a member is gone that may have voted": {
			state(ephemeral, initial(3), ephemeral, with(0, pod(PodRunning)), with(1, pod(PodRunning)), with(2, gone)), StopMembers{},
		},
		"starts over only when all have stopped": {
			state(ephemeral, initial(3), ephemeral, with(0, pod(PodDeleting)), with(1, gone), with(2, gone)),
			Wait{Reason: v1beta2.ReasonCreating, Message: "Member " + nameOf(0) + " is stopping. Then all members start again."},
		},
		"makes the rest of the members while none has run": {
			state(ephemeral, initial(3), ephemeral, with(0, pod(PodStarting)), with(1, gone), with(2, gone)), CreateMembers{Incarnation: 1, Size: 3},
		},
		"makes all volumes first": {
			state(), CreateVolumes{Incarnation: 1, Size: 3},
		},
		"makes the volumes that a killed operator did not": {
			state(initial(3), func(s *State) { s.Members = s.Members[1:] }), CreateVolumes{Incarnation: 1, Size: 3},
		},
		"keeps the size that it began with when the spec changes meanwhile": {
			state(initial(3), func(s *State) { s.Members = s.Members[1:] }, size(5)), CreateVolumes{Incarnation: 1, Size: 3},
		},
		"records that the volumes are there before it makes Pods": {
			state(initial(3)), BeginBootstrap{Incarnation: 1},
		},
		"records it once more where the status was lost and Pods are there": {
			state(initial(3), with(0, started), with(1, gone), with(2, gone)), BeginBootstrap{Incarnation: 1},
		},
		"makes all Pods at once": {
			state(initial(3), begun), CreateMembers{Incarnation: 1, Size: 3},
		},
		"makes the Pods that are missing": {
			state(initial(3), begun, with(0, started)), CreateMembers{Incarnation: 1, Size: 3},
		},
		"makes no volume anew that a member lost after it could have voted": {
			state(initial(3), begun, with(0, started), with(1, started), with(2, gone)),
			Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting. These do not serve yet: " + nameOf(0) + ", " + nameOf(1) + "."},
		},
		// etcd that is killed before its first entry never serves again as the only member. Nothing else tells a person.
		"asks for help when no member of a new cluster has served for long": {
			state(initial(1), size(1), begun, with(0, started, pod(PodRunning), unreadyFor(startGrace+time.Second))),
			Wait{Reason: v1beta2.ReasonCreating, Stalled: true, Message: "The cluster has not formed. These members have not served for more than 5m0s: " + nameOf(0) + ". " +
				"Read the log of a member's Pod, and correct what it names. If a new cluster logs \"no leader\" and nothing else is wrong, etcd was killed before its first entry. " +
				"Such a cluster has no data: delete the EtcdCluster and create it again."},
		},
		"does not ask for help at once while ended Pods may not be deleted": {
			state(ephemeral, initial(3), ephemeral, begun, with(0, pod(PodEnded)), with(1, pod(PodEnded)), with(2, pod(PodEnded)), refusedToDelete(0), refusedToDelete(1), refusedToDelete(2)),
			Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting."},
		},
		"waits for a member that has not had its time": {
			state(initial(3), begun, with(0, started, pod(PodRunning), unreadyFor(2*startGrace)), with(1, started, pod(PodRunning), unreadyFor(2*startGrace)), with(2, started, pod(PodRunning), unreadyFor(startGrace))),
			Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting. These do not serve yet: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
		"says that it cannot form when too many volumes were lost": {
			state(initial(3), begun, with(0, started), with(1, gone), with(2, gone)),
			Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Only 1 of 3 volumes exist, too few to form the cluster. It has served no client, so no data is lost. Delete the EtcdCluster and create it again.", Stalled: true},
		},
		"makes Pods without volumes with emptyDir": {
			state(ephemeral), CreateMembers{Incarnation: 1, Size: 3},
		},
		"waits for the members to start": {
			state(initial(2), begun, with(0, started), with(1, started)),
			Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting. These do not serve yet: " + nameOf(0) + ", " + nameOf(1) + "."},
		},
		"names the Pod that cannot start": {
			state(initial(2), begun, with(0, started), with(1, blockedBy(v1beta2.ReasonPodUnschedulable))),
			Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + nameOf(1) + " does not run: why. The cluster has not formed yet.", Stalled: true},
		},
		"waits for an image that cannot be had": {
			state(initial(1), begun, with(0, blockedBy(v1beta2.ReasonImageUnavailable))),
			Wait{Reason: v1beta2.ReasonImageUnavailable, Message: "Member " + nameOf(0) + " does not run: why. The cluster has not formed yet.", Stalled: true},
		},
		"makes the Pod again when the image is corrected": {
			state(initial(1), begun, with(0, blockedBy(v1beta2.ReasonImageUnavailable)), ofVersion("3.6.17")),
			DeletePod{Name: nameOf(0), Reason: v1beta2.ReasonSettling, Message: "it must run image quay.io/coreos/etcd:v3.6.17"},
		},
		"names both ways out without a default StorageClass": {
			state(noClass), Wait{Reason: v1beta2.ReasonNoStorageClass, Message: noClassMessage, Stalled: true},
		},
		"needs no StorageClass once the volumes are there": {
			state(initial(3), begun, noClass), CreateMembers{Incarnation: 1, Size: 3},
		},
		"records the cluster's ID as soon as one member serves": {
			state(initial(3), begun, with(0, voter), with(1, started), with(2, started)), RecordFormed{ClusterID: oldID, Incarnation: 1},
		},
		"waits for the restore that it was made together with": {
			state(func(s *State) { s.RestorePending = "back" }),
			Wait{Reason: v1beta2.ReasonWaitingForRestore, Message: "The cluster starts from EtcdRestore back and serves no client until then. To start it empty, delete that EtcdRestore."},
		},
		"says that a person must act when that restore has failed": {
			state(restored(v1beta2.RestoreFailed), func(s *State) { s.RestorePending = "back" }),
			Wait{Reason: v1beta2.ReasonWaitingForRestore, Message: "The cluster starts from EtcdRestore back and serves no client until then. To start it empty, delete that EtcdRestore.", Stalled: true},
		},
		"gives way to a restore that was seen when the birth had begun": {
			state(initial(3), begun, with(0, voter), func(s *State) { s.RestorePending = "back" }),
			Wait{Reason: v1beta2.ReasonWaitingForRestore, Message: "The cluster starts from EtcdRestore back and serves no client until then. To start it empty, delete that EtcdRestore."},
		},
	}.run(t)
}
