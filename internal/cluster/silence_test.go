package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// A Pod may wait long for a node. Without this, its member is removed in its first second, and so is each one after it.
func TestTheTimeOfALearnerBeginsWhenItsPodRuns(t *testing.T) {
	var q silence
	key := client.ObjectKey{Namespace: "ns", Name: "example"}
	s := state(formed, members(3))
	s.Spec.Size = 4
	for i := range s.Members {
		s.Members[i].AppliedIndex = 1000
	}
	name := s.InitialNames(1, 4)[3]
	learner := plan.Member{Name: name, Incarnation: 1, ID: 4, InMembership: true, Learner: true, Volume: plan.VolumePresent, Pod: plan.PodBlocked, PodReason: v1beta2.ReasonPodUnschedulable, PodMessage: "no node", Start: plan.StartJoin}
	s.Members = append(s.Members, learner)
	s.Budget = plan.Budget{Exists: true, Current: true, Incarnation: 1, MinAvailable: 2}
	for range 11 * 60 / 10 {
		q.saw(key, s.Members, s.Now)
		s.Now = s.Now.Add(10 * time.Second)
	}
	m := &s.Members[3]
	m.Pod, m.PodReason, m.PodImage = plan.PodRunning, "", s.ImageFor(1) // a node came; etcd has just started
	q.saw(key, s.Members, s.Now)
	if step, removes := plan.Plan(s).(plan.RemoveMember); removes {
		t.Errorf("in its first pass the learner is removed: %+v", step)
	}
}

// The containers beside etcd are not ready for an hour, because what they need is down. In one look etcd of one member is
// slow. Without this, that member is removed at once, and its volume is deleted later.
func TestASlowReadReplacesNoMemberWhoseSidecarIsNotReady(t *testing.T) {
	s := state(formed, members(3))
	pod := &corev1.Pod{Status: corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(s.Now.Add(-time.Hour))}},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: plan.EtcdContainer, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "backup-agent", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: plan.EtcdContainer, Image: s.Spec.Image()}, {Name: "backup-agent"}}
	for i := range s.Members {
		observePod(&s.Members[i], pod, s.Now)
		s.Members[i].InService = true
	}
	s.Members[1].Serving, s.Members[1].Unanswered = false, "it cannot reach a quorum"
	var q silence
	q.saw(client.ObjectKey{Namespace: "ns", Name: "example"}, s.Members, s.Now)
	if step, rule := plan.Choose(s); plan.Acts(step) {
		t.Errorf("rule %s: %+v", rule, step)
	}
	s.Now = s.Now.Add(6 * time.Minute)
	q.saw(client.ObjectKey{Namespace: "ns", Name: "example"}, s.Members, s.Now)
	if step, is := plan.Plan(s).(plan.RemoveMember); !is || step.Name != nameOf(1) {
		t.Errorf("after 6 minutes without an answer the plan is %+v", plan.Plan(s))
	}
}
