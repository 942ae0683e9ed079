package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
)

const (

	// WholeVolume is its value: the path in the volume that etcd's container mounts.
	WholeVolume = "."
)

// untilAdded keeps a container from starting until its Pod has AnnotationAdded. The kubelet reads the annotations when it creates
// the container, creates none that mounts a path which is not known, and looks again when the Pod changes. By then the Pod has
// its node, its volume, its image and its address.
func untilAdded(c *corev1.Container) {
	c.Env = append([]corev1.EnvVar{fromAnnotation(lifecycle.EnvAdded, AnnotationAdded)}, c.Env...)
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].Name == DataVolume {
			c.VolumeMounts[i].SubPathExpr = "$(" + lifecycle.EnvAdded + ")"
		}
	}
}

// Waits reports whether a Pod waits until etcd has added its member.
func Waits(pod *corev1.Pod) bool {
	return pod.Annotations[AnnotationAdded] == "" && slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == lifecycle.EtcdContainer && slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == lifecycle.EnvAdded && e.ValueFrom != nil })
	})
}

func fromAnnotation(name, annotation string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + annotation + "']"},
	}}
}
