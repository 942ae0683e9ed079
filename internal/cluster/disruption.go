package cluster

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// disruptionBudget covers the voters of one incarnation, as the client Service does. A member that is not ready is
// no help to quorum, and its eviction is not held up; with emptyDir it is, while quorum needs it, for its data goes along. The same is
// true while writes are refused, and Pods of an earlier operator are not ready for that.
func disruptionBudget(s plan.State, want plan.ApplyBudget) *policyv1.PodDisruptionBudget {
	unhealthy := policyv1.AlwaysAllow
	if s.KeepsUnready() {
		unhealthy = policyv1.IfHealthyBudget
	}
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace,
			Name:      s.Name,
			Labels:    map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: s.Name},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               ptr.To(intstr.FromInt(want.MinAvailable)),
			Selector:                   &metav1.LabelSelector{MatchLabels: votersOf(s, want.Incarnation)},
			UnhealthyPodEvictionPolicy: ptr.To(unhealthy),
		},
	}
}

// topologySpread makes members prefer different zones and nodes, unless the spec has constraints of its own. It is only a
// preference: a member in the zone of another is better than none, and a volume binds a member to its zone.
func topologySpread(s plan.State) []corev1.TopologySpreadConstraint {
	if given := s.PodPolicy().TopologySpreadConstraints; len(given) > 0 || s.PodPolicy().Affinity != nil {
		return given
	}
	members := &metav1.LabelSelector{MatchLabels: map[string]string{v1beta2.LabelCluster: s.Name}}
	var spread []corev1.TopologySpreadConstraint
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		spread = append(spread, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: members,
		})
	}
	return spread
}
