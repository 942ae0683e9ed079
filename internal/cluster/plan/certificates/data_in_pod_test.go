package certificates_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// ending: its container exits repeatedly.
func ending(m *state.Member) {
	plantest.Pod(state.PodBlocked)(m)
	m.PodReason, m.PodMessage = v1beta2.ReasonPodFailing, "why"
}

// A user removed spec.pod.emptyDir. While the operator moves the data to volumes, a Pod that briefly does not run still has its
// data. The operator deleted such Pods, even if all of them exited repeatedly, and all data was lost.
func TestDataInAPodIsKeptWhileTheSpecAsksForVolumes(t *testing.T) {
	starting, long := plantest.Pod(state.PodStarting), plantest.UnreadyFor(time.Hour)
	all := plantest.NameOf(0) + ", " + plantest.NameOf(1) + ", " + plantest.NameOf(2)
	plantest.Plans{
		"a member on a volume is added first": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.InPods), steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)},
		},
		"a Pod that exits repeatedly is kept": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.InPods, plantest.With(1, ending)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + plantest.NameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"all Pods that exit repeatedly are kept": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.InPods, plantest.NoQuorum, plantest.With(0, ending), plantest.With(1, ending), plantest.With(2, ending)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + plantest.NameOf(0) + " does not run: why. No quorum answers, so etcd accepts no writes.", Stalled: true},
		},
		"a member whose container restarts is not removed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.InPods, plantest.With(1, starting)), steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting."},
		},
		"quorum is not reported as lost while all containers restart": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.InPods, plantest.NoQuorum, plantest.With(0, starting), plantest.With(1, starting), plantest.With(2, starting)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + all + "."},
		},
		"no Pod is restarted with --force-new-cluster": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.InPods, plantest.NoQuorum, plantest.Consenting, plantest.With(0, starting), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
		"no Pod is stopped to hibernate": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.InPods, plantest.With(1, ending), func(s *state.State) { s.Spec.Hibernate = true }),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + plantest.NameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"the status names the way back to the data on volumes": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, func(s *state.State) { s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}} }, plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 0 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. 3 members have their data on volumes. To start them, remove spec.pod.emptyDir. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
		"no Pod is restarted for another CA": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.InPods, plantest.Managed, plantest.NoQuorum, plantest.Certs(func(c *state.Certificates) { c.Trust = "new" }), plantest.With(0, plantest.Silent, long), plantest.With(1, plantest.Silent, long), plantest.With(2, plantest.Silent, long)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + all +
				". The operator removes nothing. Recover these members. Their data is in the Pods, and a restart would delete it. Put the previous CA back into the TLS Secrets. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
	}.Run(t, plan.Plan)
}

// A user added spec.pod.emptyDir and corrected a container beside etcd. The next Pod of a member has no volume, so a member
// that is stopped never runs again with its data. The operator stopped the only member.
func TestAMemberThatMovesIntoItsPodIsReplacedAndNotRestarted(t *testing.T) {
	silentFor := func(m *state.Member) { plantest.Pod(state.PodRunning)(m); plantest.UnreadyFor(2 * time.Minute)(m) }
	plantest.Plans{
		"the only member is replaced if a container beside etcd fails": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.OntoPods, plantest.With(0, plantest.BesideFails(time.Hour))), steps.AddLearner{Name: plantest.NameOf(1), PeerURL: plantest.PeerURLOf(1)},
		},
		"one of three members is replaced if a container beside etcd fails": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OntoPods, plantest.With(1, plantest.BesideFails(time.Hour))), steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)},
		},
		"a member that does not serve is not restarted": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OntoPods, plantest.With(1, silentFor)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + plantest.NameOf(1) + " does not serve: its Pod is not ready."},
		},
		"a member whose file system needs a new Pod to grow is not restarted": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.OntoPods, plantest.NoQuorum, plantest.With(0, silentFor, plantest.FileSystemPending(2*time.Minute, time.Hour))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + plantest.NameOf(0) + "."},
		},
	}.Run(t, plan.Plan)
}
