package upgrade

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// If one of these changes is not seen, an upgrade that restarts members passes the test of upgrades.
func TestEachRestartOfAMemberIsSeen(t *testing.T) {
	started := metav1.NewTime(time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC))
	member := func(change func(*corev1.Pod)) map[string]podSeen {
		status := corev1.ContainerStatus{Name: "etcd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}}
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "example", UID: "1"}}
		pod.Spec.NodeName = "node-1"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "restore"}}
		change(&pod)
		return seenPods([]corev1.Pod{pod})
	}
	before := member(func(*corev1.Pod) {})
	if diff := cmp.Diff(before, member(func(pod *corev1.Pod) { pod.Labels = map[string]string{"team": "a"} })); diff != "" {
		t.Errorf("a label counts as a restart:\n%s", diff)
	}
	for what, change := range map[string]func(*corev1.Pod){
		"another Pod of the same name": func(pod *corev1.Pod) { pod.UID = "2" },
		"a Pod that is being deleted":  func(pod *corev1.Pod) { pod.DeletionTimestamp = &started },
		"a Pod on another node":        func(pod *corev1.Pod) { pod.Spec.NodeName = "node-2" },
		"a container that restarted":   func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].RestartCount++ },
		"a container that runs anew": func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(started.Add(time.Second))
		},
		"a container that has ended":    func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].State.Running = nil },
		"a seed that is restored again": func(pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].RestartCount++ },
	} {
		if cmp.Diff(before, member(change)) == "" {
			t.Errorf("%s is not seen", what)
		}
	}
}
