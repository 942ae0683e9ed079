package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func TestLostLabelsArePutBackFirst(t *testing.T) {
	unlabelled := func(m *state.Member) { m.Unlabelled = true }
	planTests{
		"restores the labels of a Pod even if no quorum answers": {
			stateWith(formed, members(3), noQuorum, with(1, unlabelled)), steps.RestoreLabels{Name: nameOf(1)},
		},
		"restores the labels of a volume before it starts the member": {
			stateWith(formed, members(3), with(2, withoutPod, func(m *state.Member) { m.VolumeUnlabelled = true })), steps.RestoreLabels{Name: nameOf(2), Volume: true},
		},
		"does not restore the labels of a Pod that is being deleted": {
			stateWith(formed, members(3), with(1, unlabelled, pod(state.PodDeleting))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " is stopping."},
		},
	}.run(t)
}
