package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// inPods: the members have their data in their Pods, and the spec now asks for volumes.
func inPods(s *state.State) {
	for i := range s.Members {
		m := &s.Members[i]
		m.Volume, m.DataInPod, m.Outdated = state.VolumeNone, true, true
	}
}

// ending: its container exits repeatedly.
func ending(m *state.Member) {
	pod(state.PodBlocked)(m)
	m.PodReason, m.PodMessage = v1beta2.ReasonPodFailing, "why"
}

// A user removed spec.pod.emptyDir. While the operator moves the data to volumes, a Pod that briefly does not run still has its
// data. The operator deleted such Pods, even if all of them exited repeatedly, and all data was lost.
func TestDataInAPodIsKeptWhileTheSpecAsksForVolumes(t *testing.T) {
	starting, long := pod(state.PodStarting), unreadyFor(time.Hour)
	all := nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2)
	planTests{
		"a member on a volume is added first": {
			stateWith(formed, members(3), inPods), steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"a Pod that exits repeatedly is kept": {
			stateWith(formed, members(3), inPods, with(1, ending)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + nameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"all Pods that exit repeatedly are kept": {
			stateWith(formed, members(3), inPods, noQuorum, with(0, ending), with(1, ending), with(2, ending)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + nameOf(0) + " does not run: why. No quorum answers, so etcd accepts no writes.", Stalled: true},
		},
		"a member whose container restarts is not removed": {
			stateWith(formed, members(3), inPods, with(1, starting)), steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"quorum is not reported as lost while all containers restart": {
			stateWith(formed, members(3), inPods, noQuorum, with(0, starting), with(1, starting), with(2, starting)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + all + "."},
		},
		"no Pod is restarted with --force-new-cluster": {
			stateWith(formed, members(3), inPods, noQuorum, consenting, with(0, starting), with(1, gone), with(2, gone)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
		"no Pod is stopped to hibernate": {
			stateWith(formed, members(3), inPods, with(1, ending), func(s *state.State) { s.Spec.Hibernate = true }),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + nameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"the status names the way back to the data on volumes": {
			stateWith(formed, members(3), noQuorum, func(s *state.State) { s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}} }, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 0 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. 3 members have their data on volumes. To start them, remove spec.pod.emptyDir. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
		"no Pod is restarted for another CA": {
			stateWith(formed, members(3), inPods, managed, noQuorum, certs(func(c *state.Certificates) { c.Trust = "new" }), with(0, silent, long), with(1, silent, long), with(2, silent, long)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + all +
				". The operator removes nothing. Recover these members. Their data is in the Pods, and a restart would delete it. Put the previous CA back into the TLS Secrets. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
	}.run(t)
}

// ontoPods: the members have their data on volumes, and the spec now asks for emptyDir.
func ontoPods(s *state.State) {
	s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for i := range s.Members {
		s.Members[i].Outdated = true
	}
}

// A user added spec.pod.emptyDir and corrected a container beside etcd. The next Pod of a member has no volume, so a member
// that is stopped never runs again with its data. The operator stopped the only member.
func TestAMemberThatMovesIntoItsPodIsReplacedAndNotRestarted(t *testing.T) {
	silentFor := func(m *state.Member) { pod(state.PodRunning)(m); unreadyFor(2 * time.Minute)(m) }
	planTests{
		"the only member is replaced if a container beside etcd fails": {
			stateWith(formed, members(1), size(1), ontoPods, with(0, besideFails(time.Hour))), steps.AddLearner{Name: nameOf(1), PeerURL: peerURLOf(1)},
		},
		"one of three members is replaced if a container beside etcd fails": {
			stateWith(formed, members(3), ontoPods, with(1, besideFails(time.Hour))), steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"a member that does not serve is not restarted": {
			stateWith(formed, members(3), ontoPods, with(1, silentFor)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " does not serve: its Pod is not ready."},
		},
		"a member whose file system needs a new Pod to grow is not restarted": {
			stateWith(formed, members(1), size(1), ontoPods, noQuorum, with(0, silentFor, fileSystemPending(2*time.Minute, time.Hour))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + "."},
		},
	}.run(t)
}
