package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// TestAClusterWhoseVolumesAreFullComesBackWhenTheSpecAsksForLargerOnes: volumes of the same size become full at the same
// time, so all members end, and quorum is lost.
func TestAClusterWhoseVolumesAreFullComesBackWhenTheSpecAsksForLargerOnes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 3, 5} {
		w := world.New(size, true)
		if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) {
			t.Fatalf("size %d: the cluster does not form: %v", size, o.Last)
		}
		fault.FillVolumes(w)
		o := run.Run(w, plan.Plan)
		if wait, waits := o.Last.(steps.Wait); !waits || !wait.Stalled {
			t.Fatalf("size %d: full volumes end with %#v", size, o.Last)
		}
		w.Cluster.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("16Gi")}},
		}}
		if o := run.Run(w, plan.PlanWith(plan.Without("requestGrowth"))); o.Last == steps.Step(steps.Done{}) {
			t.Errorf("size %d: the cluster comes back although no volume grows: nothing is tested", size)
		}
		if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) || len(w.Violations) > 0 {
			t.Errorf("size %d: with larger volumes the last word is %#v, %v", size, o.Last, w.Violations)
		}
	}
}
