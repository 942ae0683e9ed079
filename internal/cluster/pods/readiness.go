package pods

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
)

// Readiness returns whether a Pod is ready, and since when it is or is not.
func Readiness(pod *corev1.Pod) (bool, time.Time) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	return false, pod.CreationTimestamp.Time
}

// gateClosed returns whether a condition Ready is False only because a readiness gate is not True. The operator sets no
// gates, but load balancer controllers add them by a webhook. etcd serves nevertheless. How long it may not serve is
// then counted from when the operator first got no answer (see silence).
func gateClosed(ready corev1.PodCondition) bool {
	return ready.Status == corev1.ConditionFalse && ready.Reason == "ReadinessGatesNotReady" // as the kubelet writes it
}

// besideUnready names the containers that are not ready beside an etcd that is. It is empty if etcd itself is not ready.
func besideUnready(pod *corev1.Pod) string {
	var unready []string
	etcdReady := false
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		switch {
		case c.Name == lifecycle.EtcdContainer:
			etcdReady = c.Ready
		case !c.Ready:
			unready = append(unready, c.Name)
		}
	}
	switch {
	case !etcdReady || len(unready) == 0:
		return ""
	case len(unready) == 1:
		return "container " + unready[0] + " is not ready"
	}
	return "containers " + strings.Join(unready, ", ") + " are not ready"
}

// nodeSilent returns whether the Pod's node does not answer. Kubernetes then makes the condition Ready False, and leaves
// ContainersReady and the containers as the kubelet last reported them. A kubelet writes all of them, and gives the
// condition another reason if a readiness gate is not True.
func nodeSilent(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if !c.Ready {
			return false
		}
	}
	conditions := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && gateClosed(c) {
			return false
		}
		conditions[c.Type] = c.Status
	}
	return pod.Status.Phase == corev1.PodRunning && conditions[corev1.PodReady] == corev1.ConditionFalse && conditions[corev1.ContainersReady] == corev1.ConditionTrue
}
