package membership_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestLostLabelsArePutBackFirst(t *testing.T) {
	unlabelled := func(m *state.Member) { m.Unlabelled = true }
	plantest.Plans{
		"restores the labels of a Pod even if no quorum answers": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, unlabelled)), steps.RestoreLabels{Name: plantest.NameOf(1)},
		},
		"restores the labels of a volume before it starts the member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.WithoutPod, func(m *state.Member) { m.VolumeUnlabelled = true })), steps.RestoreLabels{Name: plantest.NameOf(2), Volume: true},
		},
		"does not restore the labels of a Pod that is being deleted": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, unlabelled, plantest.Pod(state.PodDeleting))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + plantest.NameOf(1) + " is stopping."},
		},
	}.Run(t, plan.Plan)
}
