package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The kubelet changes the reason with every attempt. If the status changed with it, one missing image would cause a write and
// an event every few minutes.
func TestAMissingImageHasOneMessageWhileTheKubeletTries(t *testing.T) {
	message := func(waiting string) string {
		pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: lifecycle.EtcdContainer, Image: "mirror.example/etcd:v3.6.16",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}},
		}}}}
		_, _, message := lifecycle.PodStateOf(pod, time.Time{})
		return message
	}
	if tries, waits := message("ErrImagePull"), message("ImagePullBackOff"); tries != waits || tries == "" {
		t.Errorf("while it tries: %q\nwhile it waits: %q", tries, waits)
	}
}

func TestAContainerBesideEtcdDoesNotBlockAMemberThatRuns(t *testing.T) {
	failing := corev1.ContainerStatus{Name: "a-proxy", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
	running := corev1.ContainerStatus{Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{failing, running}}}
	podState, reason, message := lifecycle.PodStateOf(pod, time.Time{})
	if podState != state.PodRunning || reason != "" || message != "container a-proxy exits repeatedly" {
		t.Errorf("state %s, reason %q, message %q", podState, reason, message)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{failing}
	if podState, _, _ := lifecycle.PodStateOf(pod, time.Time{}); podState != state.PodBlocked {
		t.Errorf("without etcd the state is %s, want Blocked", podState)
	}
}

// The API server records when a Pod was created, by its own clock. Without this, a member that no node takes is taken for one that starts,
// for as long as the operator's clock is behind, and is not replaced.
func TestAPodWithoutANodeIsBlockedEvenIfTheOperatorsClockIsBehind(t *testing.T) {
	for name, test := range map[string]struct {
		age  time.Duration
		want state.PodState
	}{
		"it was created a second ago":                        {time.Second, state.PodStarting},
		"it was created an hour ago":                         {time.Hour, state.PodBlocked},
		"it was created now, by a clock that differs little": {-time.Second, state.PodStarting},
		"the operator's clock is an hour behind":             {-time.Hour, state.PodBlocked},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(plantest.Noon.Add(-test.age))}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		if got, _, _ := lifecycle.PodStateOf(pod, plantest.Noon); got != test.want {
			t.Errorf("%s: the Pod is %s, want %s", name, got, test.want)
		}
	}
}

// A Pod may lack a node for other reasons than a scheduler that finds none: scheduling gates, or no scheduler that takes it. A new member with such a Pod
// was taken for one that starts. It kept a member that is lost from being replaced, so the next failure took the quorum.
func TestAPodThatNoSchedulerPlacesIsBlocked(t *testing.T) {
	gated := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates"}
	failed := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulerError, Message: "plugin failed"}
	placed := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}
	for name, test := range map[string]struct {
		conditions []corev1.PodCondition
		node       string
		age        time.Duration
		want       state.PodState
		message    string
	}{
		"scheduling gates for a second":  {[]corev1.PodCondition{gated}, "", time.Second, state.PodStarting, ""},
		"scheduling gates for a minute":  {[]corev1.PodCondition{gated}, "", time.Minute, state.PodBlocked, gated.Message},
		"the scheduler fails":            {[]corev1.PodCondition{failed}, "", time.Minute, state.PodBlocked, failed.Message},
		"no scheduler for a minute":      {nil, "", time.Minute, state.PodStarting, ""},
		"no scheduler for two minutes":   {nil, "", 2 * time.Minute, state.PodBlocked, "no scheduler has found a node for its Pod"},
		"it has a node":                  {nil, "node-1", time.Hour, state.PodStarting, ""},
		"a scheduler has chosen a node":  {[]corev1.PodCondition{placed}, "node-1", time.Hour, state.PodStarting, ""},
		"the operator's clock is behind": {nil, "", -time.Hour, state.PodStarting, ""},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(plantest.Noon.Add(-test.age))}}
		pod.Spec.NodeName, pod.Status.Conditions = test.node, test.conditions
		podState, reason, message := lifecycle.PodStateOf(pod, plantest.Noon)
		if podState != test.want || !strings.HasPrefix(message, test.message) || (podState == state.PodBlocked) != (reason == v1beta2.ReasonPodUnschedulable) {
			t.Errorf("%s: the Pod is %s (%s: %s), want %s", name, podState, reason, message, test.want)
		}
	}
}

// A container that the kubelet starts again is a Pod that is starting.
func TestARestartInPlaceIsAPodThatStarts(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(plantest.Noon.Add(-48 * time.Hour))}, Status: corev1.PodStatus{
		Phase:             corev1.PodRunning,
		ContainerStatuses: []corev1.ContainerStatus{{Name: lifecycle.EtcdContainer, RestartCount: 1, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}}}},
	}}
	if podState, _, _ := lifecycle.PodStateOf(p, plantest.Noon); podState != state.PodStarting {
		t.Errorf("the Pod is %s", podState)
	}
}
