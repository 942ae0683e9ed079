package objects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

func TestDisruptionBudgets(t *testing.T) {
	clustertest.Golden(t, "budget", DisruptionBudget(clustertest.State(plantest.Formed, plantest.Members(3)), steps.ApplyBudget{Incarnation: 1, MinAvailable: 2}))
	leaving := clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Members[2].DataInPod = true }) // the spec asks for volumes by now
	clustertest.Golden(t, "budget-emptydir", DisruptionBudget(leaving, steps.ApplyBudget{Incarnation: 1, MinAvailable: 2}))
	clustertest.Golden(t, "budget-emptydir", DisruptionBudget(clustertest.State(plantest.Formed, plantest.Members(3), plantest.Ephemeral), steps.ApplyBudget{Incarnation: 1, MinAvailable: 2}))
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
			got := pods.TopologySpread(clustertest.State(plantest.Policy(test.policy)))
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
