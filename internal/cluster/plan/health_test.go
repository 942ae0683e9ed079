package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// besideFails: etcd serves, and a container beside it is not ready.
func besideFails(d time.Duration) func(*state.Member) {
	return func(m *state.Member) {
		m.PodReady, m.Beside, m.BesideSince = false, "container agent is not ready", noon.Add(-d)
	}
}

// A container that was added cannot start. Without this, the correction of the spec reaches no member.
func TestACorrectedContainerBesideEtcdIsRolledOut(t *testing.T) {
	again := "a container beside etcd is not ready, and the Pod differs from the spec"
	planTests{
		"restarts a member whose container is not ready": {
			stateWith(formed, members(3), with(1, besideFails(time.Hour), outdated)),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonSettling, Message: again},
		},
		"restarts a member whose container is not ready before a ready one": {
			stateWith(formed, members(3), with(1, outdated), with(2, besideFails(time.Hour), outdated)),
			steps.DeletePod{Name: nameOf(2), Reason: v1beta2.ReasonSettling, Message: again},
		},
		"restarts the leader last": {
			stateWith(formed, members(3), with(0, besideFails(time.Hour), outdated), with(2, besideFails(time.Hour), outdated)),
			steps.DeletePod{Name: nameOf(2), Reason: v1beta2.ReasonSettling, Message: again},
		},
		"moves leadership before it restarts the leader": {
			stateWith(formed, members(3), with(0, besideFails(time.Hour), outdated)),
			steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"restarts the only member": {
			stateWith(formed, members(1), size(1), with(0, besideFails(time.Hour), outdated)),
			steps.DeletePod{Name: nameOf(0), Reason: v1beta2.ReasonSettling, Message: again},
		},
		"restarts no member while another one does not serve": {
			stateWith(formed, members(3), with(1, besideFails(time.Hour), outdated), with(2, pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: besideMessage(1), Stalled: true},
		},
		"replaces a member without a volume instead of restarting it": {
			stateWith(formed, members(3), ephemeral, with(1, besideFails(time.Hour), outdated)),
			steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"restarts no member that matches the spec": {
			stateWith(formed, members(3), with(1, besideFails(time.Hour))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: besideMessage(1), Stalled: true},
		},
		"waits a minute before it restarts a member": {
			stateWith(formed, members(3), with(1, besideFails(time.Second), outdated)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " serves, but its Pod is not ready: container agent is not ready."},
		},
	}.run(t)
}

func besideMessage(i int) string {
	return "Member " + nameOf(i) + " serves, but its Pod has not been ready for more than 5m0s: container agent is not ready. The client Service does not select it. " +
		"The operator changes no other member until it is ready. Correct the container in spec.pod, or the objects that it uses."
}

// Without this, Available is True although the client Service has no endpoint.
func TestAClusterWithoutAReadyPodIsNotAvailable(t *testing.T) {
	s := stateWith(formed, members(3), with(0, besideFails(time.Hour)), with(1, besideFails(time.Hour)), with(2, besideFails(time.Hour)))
	status := NewStatus(s, Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
	available, degraded := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionAvailable), meta.FindStatusCondition(status.Conditions, v1beta2.ConditionDegraded)
	if available.Status != metav1.ConditionFalse || !strings.Contains(available.Message, "agent") {
		t.Errorf("Available is %+v", available)
	}
	if degraded.Status != metav1.ConditionTrue {
		t.Errorf("Degraded is %+v", degraded)
	}
}

// A load balancer controller keeps the readiness gates of all Pods closed, so the client Service has no endpoint. Available was True.
func TestAClusterWhoseReadinessGatesAreClosedIsNotAvailable(t *testing.T) {
	closed := func(m *state.Member) { m.Gate, m.GateSince = "gate lb is not True", noon.Add(-time.Hour) }
	for open, want := range map[int]metav1.ConditionStatus{0: metav1.ConditionFalse, 1: metav1.ConditionTrue} {
		s := stateWith(formed, members(3), with(0, closed), with(1, closed), with(2, closed))
		for i := range open {
			s.Members[i].Gate = ""
		}
		status := NewStatus(s, Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
		available := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionAvailable)
		if available.Status != want || (open == 0 && !strings.Contains(available.Message, "gate lb is not True")) {
			t.Errorf("%d of 3 gates are open, and Available is %+v", open, available)
		}
	}
}

// A person has fenced a member, and its Pod cannot start any more. The operator keeps it for that person, so the status must say so: otherwise the cluster
// lacks a member for good, and nothing tells why.
func TestTheStatusSaysWhyAFencedMemberThatCannotStartIsKept(t *testing.T) {
	s := stateWith(formed, members(5), size(5), with(1, pod(state.PodBlocked)))
	s.Members[1].UnreadySince, s.Members[1].PodReason, s.Members[1].PodMessage = noon.Add(-time.Hour), v1beta2.ReasonPodFailing, "it has already been bootstrapped."
	s.Asked.Fence = []string{nameOf(1)}
	if said := steps.Describe(s, Plan(s)).Message; !strings.Contains(said, v1beta2.AnnotationFence) {
		t.Errorf("the plan is %T, and the status says: %s", Plan(s), said)
	}
}
