package objects

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// ServedBy is what a client Service was made for.
func ServedBy(service *corev1.Service) (incarnation int32, clusterID string) {
	n, _ := strconv.ParseInt(service.Spec.Selector[v1beta2.LabelIncarnation], 10, 32) // 0 if it selects nobody
	return int32(n), service.Annotations[v1beta2.AnnotationClusterID]
}

// SameService says whether all that is wanted is there; what others added is left alone.
func SameService(want, have *corev1.Service) bool {
	have = withoutNodePorts(have)
	if DroppedTraffic(want, have) {
		want = want.DeepCopy()
		want.Spec.TrafficDistribution = nil
	}
	return equality.Semantic.DeepDerivative(want.Spec, have.Spec) && equality.Semantic.DeepEqual(want.Spec.Selector, have.Spec.Selector) &&
		equality.Semantic.DeepDerivative(want.Labels, have.Labels) && equality.Semantic.DeepDerivative(want.Annotations, have.Annotations) &&
		want.Annotations[annotationService] == have.Annotations[annotationService]
}

// DroppedTraffic reports whether trafficDistribution was applied, and the API server dropped it: Kubernetes 1.30 does not have
// it.
func DroppedTraffic(want, have *corev1.Service) bool {
	return have.Spec.TrafficDistribution == nil && want.Spec.TrafficDistribution != nil && have.Annotations[annotationService] == want.Annotations[annotationService]
}

// withoutNodePorts is a Service without the ports of nodes, which Kubernetes chooses.
func withoutNodePorts(service *corev1.Service) *corev1.Service {
	copied := service.DeepCopy()
	copied.Spec.HealthCheckNodePort = 0
	for i := range copied.Spec.Ports {
		copied.Spec.Ports[i].NodePort = 0
	}
	return copied
}
