package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The kubelet changes the reason with every attempt. If the status changed with it, one missing image would cause a write and
// an event every few minutes.
func TestAMissingImageHasOneMessageWhileTheKubeletTries(t *testing.T) {
	message := func(waiting string) string {
		pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: EtcdContainer, Image: "mirror.example/etcd:v3.6.16",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}},
		}}}}
		_, _, message := PodStateOf(pod, time.Time{})
		return message
	}
	if tries, waits := message("ErrImagePull"), message("ImagePullBackOff"); tries != waits || tries == "" {
		t.Errorf("while it tries: %q\nwhile it waits: %q", tries, waits)
	}
}

func TestAContainerBesideEtcdDoesNotBlockAMemberThatRuns(t *testing.T) {
	failing := corev1.ContainerStatus{Name: "a-proxy", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
	running := corev1.ContainerStatus{Name: EtcdContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{failing, running}}}
	state, reason, message := PodStateOf(pod, time.Time{})
	if state != PodRunning || reason != "" || message != "container a-proxy exits repeatedly" {
		t.Errorf("state %s, reason %q, message %q", state, reason, message)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{failing}
	if state, _, _ := PodStateOf(pod, time.Time{}); state != PodBlocked {
		t.Errorf("without etcd the state is %s, want Blocked", state)
	}
}
