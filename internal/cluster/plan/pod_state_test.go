package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestAContainerBesideEtcdDoesNotBlockAMemberThatRuns(t *testing.T) {
	failing := corev1.ContainerStatus{Name: "a-proxy", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
	running := corev1.ContainerStatus{Name: EtcdContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{failing, running}}}
	state, reason, message := PodStateOf(pod, time.Now())
	if state != PodRunning || reason != "" || message != "container a-proxy exits repeatedly" {
		t.Errorf("state %s, reason %q, message %q", state, reason, message)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{failing}
	if state, _, _ := PodStateOf(pod, time.Now()); state != PodBlocked {
		t.Errorf("without etcd the state is %s, want Blocked", state)
	}
}
