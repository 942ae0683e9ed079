package repair_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A container that was added cannot start. Without this, the correction of the spec reaches no member.
func TestACorrectedContainerBesideEtcdIsRolledOut(t *testing.T) {
	again := "a container beside etcd is not ready, and the Pod differs from the spec"
	plantest.Plans{
		"restarts a member whose container is not ready": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BesideFails(time.Hour), plantest.Outdated)),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonSettling, Message: again},
		},
		"restarts a member whose container is not ready before a ready one": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Outdated), plantest.With(2, plantest.BesideFails(time.Hour), plantest.Outdated)),
			steps.DeletePod{Name: plantest.NameOf(2), Reason: v1beta2.ReasonSettling, Message: again},
		},
		"restarts the leader last": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.BesideFails(time.Hour), plantest.Outdated), plantest.With(2, plantest.BesideFails(time.Hour), plantest.Outdated)),
			steps.DeletePod{Name: plantest.NameOf(2), Reason: v1beta2.ReasonSettling, Message: again},
		},
		"moves leadership before it restarts the leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.BesideFails(time.Hour), plantest.Outdated)),
			steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"restarts the only member": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.With(0, plantest.BesideFails(time.Hour), plantest.Outdated)),
			steps.DeletePod{Name: plantest.NameOf(0), Reason: v1beta2.ReasonSettling, Message: again},
		},
		"restarts no member while another one does not serve": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BesideFails(time.Hour), plantest.Outdated), plantest.With(2, plantest.Pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: besideMessage(1), Stalled: true},
		},
		"replaces a member without a volume instead of restarting it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Ephemeral, plantest.With(1, plantest.BesideFails(time.Hour), plantest.Outdated)),
			steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)},
		},
		"restarts no member that matches the spec": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BesideFails(time.Hour))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: besideMessage(1), Stalled: true},
		},
		"waits a minute before it restarts a member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BesideFails(time.Second), plantest.Outdated)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + plantest.NameOf(1) + " serves, but its Pod is not ready: container agent is not ready."},
		},
	}.Run(t, plan.Plan)
}

func besideMessage(i int) string {
	return "Member " + plantest.NameOf(i) + " serves, but its Pod has not been ready for more than 5m0s: container agent is not ready. The client Service does not select it. " +
		"The operator changes no other member until it is ready. Correct the container in spec.pod, or the objects that it uses."
}

// Without this, Available is True although the client Service has no endpoint.
func TestAClusterWithoutAReadyPodIsNotAvailable(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.BesideFails(time.Hour)), plantest.With(1, plantest.BesideFails(time.Hour)), plantest.With(2, plantest.BesideFails(time.Hour)))
	status := plan.NewStatus(s, plan.Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
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
	closed := func(m *state.Member) { m.Gate, m.GateSince = "gate lb is not True", plantest.Noon.Add(-time.Hour) }
	for open, want := range map[int]metav1.ConditionStatus{0: metav1.ConditionFalse, 1: metav1.ConditionTrue} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, closed), plantest.With(1, closed), plantest.With(2, closed))
		for i := range open {
			s.Members[i].Gate = ""
		}
		status := plan.NewStatus(s, plan.Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
		available := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionAvailable)
		if available.Status != want || (open == 0 && !strings.Contains(available.Message, "gate lb is not True")) {
			t.Errorf("%d of 3 gates are open, and Available is %+v", open, available)
		}
	}
}

// A person has fenced a member, and its Pod cannot start any more. The operator keeps it for that person, so the status must say so: otherwise the cluster
// lacks a member for good, and nothing tells why.
func TestTheStatusSaysWhyAFencedMemberThatCannotStartIsKept(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.With(1, plantest.Pod(state.PodBlocked)))
	s.Members[1].UnreadySince, s.Members[1].PodReason, s.Members[1].PodMessage = plantest.Noon.Add(-time.Hour), v1beta2.ReasonPodFailing, "it has already been bootstrapped."
	s.Asked.Fence = []string{plantest.NameOf(1)}
	if said := steps.Describe(s, plan.Plan(s)).Message; !strings.Contains(said, v1beta2.AnnotationFence) {
		t.Errorf("the plan is %T, and the status says: %s", plan.Plan(s), said)
	}
}
