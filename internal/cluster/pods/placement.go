package pods

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// TopologySpread makes members prefer different zones and nodes, unless the spec has constraints of its own. It is only a
// preference: a member in the zone of another is better than none, and a volume binds a member to its zone.
func TopologySpread(s state.State) []corev1.TopologySpreadConstraint {
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

// affinity spreads members over hosts: as a wish by default, as a must with antiAffinity.
func affinity(s state.State, m steps.CreateMember) *corev1.Affinity {
	policy := s.PodPolicy()
	if policy.Affinity != nil {
		return policy.Affinity
	}
	term := corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1beta2.LabelCluster: s.Name}},
		TopologyKey:   corev1.LabelHostname,
	}
	zone := preferredZone(s, m)
	if policy.AntiAffinity {
		return &corev1.Affinity{NodeAffinity: zone, PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}}
	}
	return &corev1.Affinity{NodeAffinity: zone, PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: term}},
	}}
}

// preferredZone lets a member that takes the place of another, which still runs, prefer its zone. It is nil for all others.
func preferredZone(s state.State, m steps.CreateMember) *corev1.NodeAffinity {
	if m.Start != state.StartJoin {
		return nil
	}
	zone := membership.PreferredZone(s, m.Name)
	if zone == "" {
		return nil
	}
	return &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
		Weight: 100,
		Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
		}},
	}}}
}
