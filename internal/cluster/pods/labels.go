package pods

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/metadata"
)

// WantedLabels are those that a Pod or volume of a member always has.
func WantedLabels(s state.State, object client.Object) map[string]string {
	labels := memberLabels(s, object.GetName(), IncarnationOf(s, object))
	if pod, isPod := object.(*corev1.Pod); isPod && StartOf(pod) == state.StartForce {
		delete(labels, v1beta2.LabelApp) // no Service selects it
	}
	return labels
}

// Unlabelled reports whether an object of the cluster lost what the operator gave it. Objects with names that the
// operator did not make are not judged.
func Unlabelled(s state.State, object client.Object) bool {
	if _, named := services.IncarnationNamed(s, object.GetName()); !named {
		return false
	}
	for key, value := range WantedLabels(s, object) {
		if object.GetLabels()[key] != value {
			return true
		}
	}
	if _, isVolume := object.(*corev1.PersistentVolumeClaim); isVolume {
		return object.GetAnnotations()[v1beta2.AnnotationClusterUID] == "" && metav1.GetControllerOf(object) == nil
	}
	return metav1.GetControllerOf(object) == nil
}

// IncarnationOf an object is in its name, and else in its label. Without both it is the first: no operator before this
// one made others.
func IncarnationOf(s state.State, object client.Object) int32 {
	n, err := strconv.ParseInt(object.GetLabels()[v1beta2.LabelIncarnation], 10, 32)
	if err == nil && state.Named(s, object.GetName(), int32(n)) {
		return int32(n)
	}
	if named, ok := services.IncarnationNamed(s, object.GetName()); ok {
		return named
	}
	if err != nil {
		return state.FirstIncarnation
	}
	return int32(n)
}

// Labels are those of a new Pod.
func Labels(s state.State, m steps.CreateMember) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, metadata.Of(s.Spec).Labels)
	maps.Copy(labels, s.PodPolicy().Labels)
	maps.Copy(labels, memberLabels(s, m.Name, m.Incarnation))
	if m.Start == state.StartForce {
		// No Service selects it: what a client wrote now could be lost if etcd were restarted in place with the flag.
		delete(labels, v1beta2.LabelApp)
		return labels
	}
	mayVote := m.Start != state.StartJoin && (m.Start != state.StartRejoin || membership.MayVote(s, m.Name))
	if mayVote && !s.Fenced(m.Name) {
		labels[LabelVoter] = "true"
	}
	return labels
}

// memberLabels are those of a member's Pod and volume.
func memberLabels(s state.State, member string, incarnation int32) map[string]string {
	return map[string]string{
		v1beta2.LabelApp:         v1beta2.AppName,
		v1beta2.LabelCluster:     s.Name,
		v1beta2.LabelMember:      member,
		v1beta2.LabelIncarnation: strconv.Itoa(int(incarnation)),
		v1beta2.LabelClusterUID:  string(s.UID),
	}
}
