package volumes_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The cluster grows after a recovery from member 0. The status is lost, or an old one comes back, so nothing says any more that the volumes of
// 1 and 2 are those of a recovery. They may have the last copy of a write that etcd acknowledged, and the operator deleted them at once.
func TestTheVolumesOfARecoveryAreSetAsideAlthoughTheStatusIsLost(t *testing.T) {
	marked := func(m *state.Member) { m.Recovered = true }
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Volume(state.VolumePresent), marked))
	if step := plan.Plan(s); step != (steps.SetAsideVolume{Name: plantest.NameOf(3)}) {
		t.Errorf("the plan is %T: %s", step, steps.Describe(s, step).Message)
	}
	s = plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Volume(state.VolumePresent)))
	if step := plan.Plan(s); step != (steps.DeleteVolume{Name: plantest.NameOf(3), Reason: v1beta2.ReasonScaling}) {
		t.Errorf("without a mark, the plan is %T: %s", step, steps.Describe(s, step).Message)
	}
}
