package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func TestPlanBirth(t *testing.T) {
	started := func(m *state.Member) {
		onVolume(m)
		m.Start = state.StartNew
	}
	planTests{
		"stops all members with emptyDir if one that may have voted has lost its data": {
			stateWith(ephemeral, initial(3), ephemeral, with(0, pod(state.PodRunning)), with(1, pod(state.PodRunning)), with(2, gone)), steps.StopMembers{},
		},
		"waits until all members with emptyDir have stopped before it restarts them": {
			stateWith(ephemeral, initial(3), ephemeral, with(0, pod(state.PodDeleting)), with(1, gone), with(2, gone)),
			steps.Wait{Reason: v1beta2.ReasonCreating, Message: "Member " + nameOf(0) + " is stopping. Then all members start again."},
		},
		"creates the missing members with emptyDir if no member has run": {
			stateWith(ephemeral, initial(3), ephemeral, with(0, pod(state.PodStarting)), with(1, gone), with(2, gone)), steps.CreateMembers{Incarnation: 1, Size: 3},
		},
		"creates all volumes first": {
			stateWith(), steps.CreateVolumes{Incarnation: 1, Size: 3},
		},
		"creates the volumes that are missing after the operator was killed": {
			stateWith(initial(3), func(s *state.State) { s.Members = s.Members[1:] }), steps.CreateVolumes{Incarnation: 1, Size: 3},
		},
		"creates volumes for the initial size if spec.size changes during the bootstrap": {
			stateWith(initial(3), func(s *state.State) { s.Members = s.Members[1:] }, size(5)), steps.CreateVolumes{Incarnation: 1, Size: 3},
		},
		"records that all volumes exist before it creates Pods": {
			stateWith(initial(3)), steps.BeginBootstrap{Incarnation: 1},
		},
		"records the bootstrap again if the status was lost and a Pod exists": {
			stateWith(initial(3), with(0, started), with(1, gone), with(2, gone)), steps.BeginBootstrap{Incarnation: 1},
		},
		"creates all Pods at once": {
			stateWith(initial(3), begun), steps.CreateMembers{Incarnation: 1, Size: 3},
		},
		"creates the Pods that are missing": {
			stateWith(initial(3), begun, with(0, started)), steps.CreateMembers{Incarnation: 1, Size: 3},
		},
		"does not recreate the volume of a member that may have voted": {
			stateWith(initial(3), begun, with(0, started), with(1, started), with(2, gone)),
			steps.Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting. These do not serve yet: " + nameOf(0) + ", " + nameOf(1) + "."},
		},
		// If etcd is killed before its first entry, it never serves again as the only member. Only this message reports that.
		"asks a person for help if no member of a new cluster has served for 5 minutes": {
			stateWith(initial(1), size(1), begun, with(0, started, pod(state.PodRunning), unreadyFor(state.StartGrace+time.Second))),
			steps.Wait{Reason: v1beta2.ReasonCreating, Stalled: true, Message: "The cluster has not formed. These members have not served for more than 5m0s: " + nameOf(0) + ". " +
				"Read the log of a member's Pod, and correct what it names. If a new cluster logs \"no leader\" and nothing else is wrong, etcd was killed before its first entry. " +
				"Such a cluster has no data: delete the EtcdCluster and create it again."},
		},
		"does not ask for help yet if the API server has just refused to delete ended Pods": {
			stateWith(ephemeral, initial(3), ephemeral, begun, with(0, pod(state.PodEnded)), with(1, pod(state.PodEnded)), with(2, pod(state.PodEnded)), refusedToDelete(0), refusedToDelete(1), refusedToDelete(2)),
			steps.Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting."},
		},
		"waits while one member has been unready for no more than 5 minutes": {
			stateWith(initial(3), begun, with(0, started, pod(state.PodRunning), unreadyFor(2*state.StartGrace)), with(1, started, pod(state.PodRunning), unreadyFor(2*state.StartGrace)), with(2, started, pod(state.PodRunning), unreadyFor(state.StartGrace))),
			steps.Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting. These do not serve yet: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
		"reports that the cluster cannot form if too many volumes were lost": {
			stateWith(initial(3), begun, with(0, started), with(1, gone), with(2, gone)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Only 1 of 3 volumes exist, too few to form the cluster. It has served no client, so no data is lost. Delete the EtcdCluster and create it again.", Stalled: true},
		},
		"creates Pods and no volumes with emptyDir": {
			stateWith(ephemeral), steps.CreateMembers{Incarnation: 1, Size: 3},
		},
		"waits for the members to start": {
			stateWith(initial(2), begun, with(0, started), with(1, started)),
			steps.Wait{Reason: v1beta2.ReasonCreating, Message: "The members are starting. These do not serve yet: " + nameOf(0) + ", " + nameOf(1) + "."},
		},
		"reports the Pod that cannot be scheduled": {
			stateWith(initial(2), begun, with(0, started), with(1, blockedBy(v1beta2.ReasonPodUnschedulable))),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + nameOf(1) + " does not run: why. The cluster has not formed yet.", Stalled: true},
		},
		"waits if an image cannot be pulled": {
			stateWith(initial(1), begun, with(0, blockedBy(v1beta2.ReasonImageUnavailable))),
			steps.Wait{Reason: v1beta2.ReasonImageUnavailable, Message: "Member " + nameOf(0) + " does not run: why. The cluster has not formed yet.", Stalled: true},
		},
		"recreates the Pod when the image is corrected": {
			stateWith(initial(1), begun, with(0, blockedBy(v1beta2.ReasonImageUnavailable)), ofVersion("3.6.17")),
			steps.DeletePod{Name: nameOf(0), Reason: v1beta2.ReasonSettling, Message: "it must run image quay.io/coreos/etcd:v3.6.17"},
		},
		"reports both ways out if there is no default StorageClass": {
			stateWith(noClass), steps.Wait{Reason: v1beta2.ReasonNoStorageClass, Message: noClassMessage, Stalled: true},
		},
		"needs no StorageClass once the volumes exist": {
			stateWith(initial(3), begun, noClass), steps.CreateMembers{Incarnation: 1, Size: 3},
		},
		"records the cluster ID as soon as one member serves": {
			stateWith(initial(3), begun, with(0, voter), with(1, started), with(2, started)), steps.RecordFormed{ClusterID: oldID, Incarnation: 1},
		},
		"waits for the EtcdRestore that was created together with the cluster": {
			stateWith(func(s *state.State) { s.RestorePending = "back" }),
			steps.Wait{Reason: v1beta2.ReasonWaitingForRestore, Message: "The cluster starts from EtcdRestore back and serves no client until then. To start it empty, delete that EtcdRestore."},
		},
		"is stalled if the EtcdRestore that the cluster waits for has failed": {
			stateWith(restored(v1beta2.RestoreFailed), func(s *state.State) { s.RestorePending = "back" }),
			steps.Wait{Reason: v1beta2.ReasonWaitingForRestore, Message: "The cluster starts from EtcdRestore back and serves no client until then. To start it empty, delete that EtcdRestore.", Stalled: true},
		},
		"waits for an EtcdRestore that appears after the bootstrap has begun": {
			stateWith(initial(3), begun, with(0, voter), func(s *state.State) { s.RestorePending = "back" }),
			steps.Wait{Reason: v1beta2.ReasonWaitingForRestore, Message: "The cluster starts from EtcdRestore back and serves no client until then. To start it empty, delete that EtcdRestore."},
		},
	}.run(t)
}
