package fleet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// initialCluster reads the names in --initial-cluster, whose variables it replaces as the kubelet does.
func initialCluster(pod *corev1.Pod) []string {
	etcd := pod.Spec.Containers[0]
	names := sets.New[string]()
	for _, argument := range etcd.Command {
		list, is := strings.CutPrefix(argument, "--initial-cluster=")
		if !is {
			continue
		}
		for entry := range strings.SplitSeq(expand(list, pod, etcd.Env), ",") {
			name, _, _ := strings.Cut(entry, "=")
			names.Insert(name)
		}
	}
	return sets.List(names)
}

// expand replaces $(NAME) by the value of a variable, which a Pod may take from its annotations.
func expand(text string, pod *corev1.Pod, env []corev1.EnvVar) string {
	for _, e := range env {
		value := e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			for key, annotation := range pod.Annotations {
				if e.ValueFrom.FieldRef.FieldPath == fmt.Sprintf("metadata.annotations['%s']", key) {
					value = annotation
				}
			}
		}
		text = strings.ReplaceAll(text, "$("+e.Name+")", value)
	}
	return text
}
