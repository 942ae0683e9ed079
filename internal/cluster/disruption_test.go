package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

func TestDisruptionBudgets(t *testing.T) {
	golden(t, "budget", disruptionBudget(state(formed, members(3)), plan.ApplyBudget{Incarnation: 1, MinAvailable: 2}))
	leaving := state(formed, members(3), func(s *plan.State) { s.Members[2].DataInPod = true }) // the spec asks for volumes by now
	golden(t, "budget-emptydir", disruptionBudget(leaving, plan.ApplyBudget{Incarnation: 1, MinAvailable: 2}))
	golden(t, "budget-emptydir", disruptionBudget(state(formed, members(3), ephemeral), plan.ApplyBudget{Incarnation: 1, MinAvailable: 2}))
}

func TestTheUsersSpreadReplacesTheDefault(t *testing.T) {
	mine := []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule}}
	for name, test := range map[string]struct {
		policy v1beta2.PodPolicy
		want   []string
	}{
		"members spread over zones and nodes by default": {want: []string{corev1.LabelTopologyZone, corev1.LabelHostname}},
		"the user's constraints replace the default":     {policy: v1beta2.PodPolicy{TopologySpreadConstraints: mine}, want: []string{"rack"}},
		"the user's affinity replaces the default":       {policy: v1beta2.PodPolicy{Affinity: &corev1.Affinity{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := topologySpread(state(policy(test.policy)))
			if len(got) != len(test.want) {
				t.Fatalf("spread %+v", got)
			}
			for i, key := range test.want {
				if got[i].TopologyKey != key {
					t.Errorf("spread over %s, want %s", got[i].TopologyKey, key)
				}
			}
		})
	}
}
