package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The kubelet changes the reason with every attempt. If the status changed with it, one image that is missing would cause a
// write and an event every few minutes, all night.
func TestAMissingImageHasOneMessageWhileTheKubeletTries(t *testing.T) {
	message := func(waiting string) string {
		pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: EtcdContainer, Image: "mirror.example/etcd:v3.6.16",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}},
		}}}}
		_, _, message := PodStateOf(pod, time.Now())
		return message
	}
	if tries, waits := message("ErrImagePull"), message("ImagePullBackOff"); tries != waits || tries == "" {
		t.Errorf("while it tries: %q\nwhile it waits: %q", tries, waits)
	}
}
