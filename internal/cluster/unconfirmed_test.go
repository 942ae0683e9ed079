package cluster

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// A webhook added the readiness gate of a load balancer. One slow read made the operator replace a member that served.
func TestAMemberWithAClosedReadinessGateIsReplacedOnlyIfItDoesNotServe(t *testing.T) {
	gate := "corresponding condition of pod readiness gate \"lb\" does not exist."
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: plantest.NameOf(1)}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", Message: gate, LastTransitionTime: metav1.NewTime(clustertest.State().Now.Add(-time.Hour))},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
	}}}
	for _, test := range []struct {
		name   string
		silent time.Duration
		want   steps.Step
	}{
		{"the member serves", -1, steps.Wait{}}, {"one read failed", 0, steps.Wait{}}, {"no read succeeds", 6 * time.Minute, steps.RemoveMember{}},
	} {
		s := clustertest.State(plantest.Formed, plantest.Members(3))
		s.Members[1].Serving = test.silent < 0
		m := s.Members[1]
		pods.ObservePod(&m, pod, s.Now)
		s.Members[1].PodReady, s.Members[1].UnreadySince, s.Members[1].Gate, s.Members[1].GateSince = m.PodReady, m.UnreadySince, m.Gate, m.GateSince
		var q members.Silence
		now := s.Now
		for _, s.Now = range []time.Time{now.Add(-max(test.silent, 0)), now} {
			q.Saw(client.ObjectKey{}, &s)
		}
		step := plan.Plan(s)
		if reflect.TypeOf(step) != reflect.TypeOf(test.want) {
			t.Errorf("%s: the plan is %+v", test.name, step)
		}
		if wait, is := step.(steps.Wait); is && test.silent < 0 && (!strings.Contains(wait.Message, "readiness gate \"lb\"") || !wait.Stalled) {
			t.Errorf("%s: the plan is %+v, want the gate to be named", test.name, wait)
		}
	}
}

// The containers beside etcd are not ready for an hour, because what they need is down. In one look etcd of one member is
// slow. Without this, that member is removed at once, and its volume is deleted later.
func TestASlowReadReplacesNoMemberWhoseSidecarIsNotReady(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	pod := &corev1.Pod{Status: corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(s.Now.Add(-time.Hour))}},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: lifecycle.EtcdContainer, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "backup-agent", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: lifecycle.EtcdContainer, Image: s.Spec.Image()}, {Name: "backup-agent"}}
	for i := range s.Members {
		pods.ObservePod(&s.Members[i], pod, s.Now)
		s.Members[i].InService = true
	}
	s.Members[1].Serving, s.Members[1].Unanswered = false, "it cannot reach a quorum"
	var q members.Silence
	q.Saw(client.ObjectKey{Namespace: "ns", Name: "example"}, &s)
	if step, rule := plan.Choose(s); steps.Acts(step) {
		t.Errorf("rule %s: %+v", rule, step)
	}
	s.Now = s.Now.Add(6 * time.Minute)
	q.Saw(client.ObjectKey{Namespace: "ns", Name: "example"}, &s)
	if step, is := plan.Plan(s).(steps.RemoveMember); !is || step.Name != plantest.NameOf(1) {
		t.Errorf("after 6 minutes without an answer the plan is %+v", plan.Plan(s))
	}
}
