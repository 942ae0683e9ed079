package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// A container can restart in its Pod on a volume that has become empty: a node boots again and has cleared a tmpfs, or its disk was wiped.
// Whatever once started must not start empty then. The command of a Pod cannot change, but the kubelet reads the annotations of the Pod
// each time it creates a container. So a Pod that may start without data has its --initial-cluster in an annotation.

// mayStartEmpty reports whether a container of a Pod would make data again if it restarted on an empty volume, and an annotation can
// change that.
func mayStartEmpty(pod *corev1.Pod) bool {
	if pod.Annotations[AnnotationInitialCluster] == command.RejoinOnly || Waits(pod) {
		return false
	}
	return HasEnv(pod.Spec.Containers, lifecycle.EtcdContainer, command.EnvInitialCluster) || HasEnv(pod.Spec.InitContainers, SeedContainer, seed.EnvDataRequired)
}

// HasEnv returns whether a container has a variable whose value comes from elsewhere in the Pod.
func HasEnv(containers []corev1.Container, container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool {
		return c.Name == container && slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name && e.ValueFrom != nil })
	})
}
