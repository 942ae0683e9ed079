package pods

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// RelabelPatch is the merge patch that does it: what was once given and is no longer asked for goes, what others set
// stays.
func RelabelPatch(s state.State, pod *corev1.Pod) map[string]any {
	var given podMetadata
	_ = json.Unmarshal([]byte(pod.Annotations[annotationMetadata]), &given) // nothing is known to have been given
	want := Metadata(s)
	annotations := difference(given.Annotations, want.Annotations)
	annotations[annotationMetadata] = Text(want)
	if pod.Annotations[AnnotationTemplate] == "" && madeFor(s, pod) || resized(s, pod) {
		annotations[AnnotationTemplate] = Template(s)
	}
	if resized(s, pod) && pod.Annotations[AnnotationResize] != "" {
		annotations[AnnotationResize] = nil
	}
	labels := difference(given.Labels, want.Labels)
	ofCluster, others := services.MetadataFor(s, "Pod", pod.Name)
	clusterLabels, clusterAnnotations := ofCluster.Patch(pod, others)
	maps.Copy(labels, clusterLabels)
	maps.Copy(annotations, clusterAnnotations)
	own := memberLabels(s, pod.Name, IncarnationOf(s, pod))
	maps.DeleteFunc(labels, func(key string, _ any) bool { return own[key] != "" || key == LabelVoter })
	return map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}}
}

// difference takes a map from given to want, as a merge patch does.
func difference(given, want map[string]string) map[string]any {
	patch := map[string]any{}
	for key := range given {
		patch[key] = nil
	}
	for key, value := range want {
		patch[key] = value
	}
	return patch
}
