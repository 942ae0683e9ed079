package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// The API server records when a Pod was created, by its own clock. Without this, a member that no node takes is taken for one that starts,
// for as long as the operator's clock is behind, and is not replaced.
func TestAPodWithoutANodeIsBlockedEvenIfTheOperatorsClockIsBehind(t *testing.T) {
	for name, test := range map[string]struct {
		age  time.Duration
		want PodState
	}{
		"it was created a second ago":                        {time.Second, PodStarting},
		"it was created an hour ago":                         {time.Hour, PodBlocked},
		"it was created now, by a clock that differs little": {-time.Second, PodStarting},
		"the operator's clock is an hour behind":             {-time.Hour, PodBlocked},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(-test.age))}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		if got, _, _ := PodStateOf(pod, noon); got != test.want {
			t.Errorf("%s: the Pod is %s, want %s", name, got, test.want)
		}
	}
}
