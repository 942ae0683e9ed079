package pods

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A standby is restarted with its node, or when its store does not answer. If these restarts counted as failures after it is done, the promotion would fail.
func TestASeedThatIsDoneHasNoFailures(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{
		Name: SeedContainer, RestartCount: 3,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Message: `{"timeline":1,"revision":42,"planned":true}`}},
	}}}}
	if s := seedOf(pod); s.Failures != 0 || s.Promoted == nil {
		t.Errorf("a seed that is done has %+v", s)
	}
	pod.Status.InitContainerStatuses[0].State = corev1.ContainerState{}
	if s := seedOf(pod); s.Failures != 3 {
		t.Errorf("a seed that was restarted has %+v", s)
	}
}
