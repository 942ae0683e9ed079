package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// refusedFence: the API server refused to delete the Pod of the i-th member a second ago.
func refusedFence(i int) change {
	return func(s *state.State) {
		var r Repeats
		s.Held = append(s.Held, r.Refused(*s, recovery.FenceStop(s.Members[i]), "a webhook"))
	}
}

func TestARecoveryGoesOnWithoutTheDeletionOfAStoppedPodOnlyIfItsMemberHasNoData(t *testing.T) {
	start := steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartForce}
	lost := func(changes ...change) state.State {
		return stateWith(append([]change{formed, members(3), noQuorum, with(0, withoutPod), with(1, gone), with(2, gone), consenting, forcing(0), flagRecorded}, changes...)...)
	}
	ended := func(m *state.Member) { m.Pod, m.Terminated = state.PodEnded, true }
	planTests{
		"deletes the stopped Pod first":                                                   {lost(with(1, ended)), recovery.FenceStop(state.Member{Name: nameOf(1)})},
		"starts the survivor if the deletion is refused and the member has no data":       {lost(with(1, ended), refusedFence(1)), start},
		"waits if the deletion is refused and the member has data":                        {lost(with(1, ended, volume(state.VolumePresent)), refusedFence(1)), recovery.WaitForRefusedStop(state.Member{Name: nameOf(1), Terminated: true})},
		"waits if the deletion is refused and no kubelet has reported that the Pod ended": {lost(with(1, pod(state.PodEnded)), refusedFence(1)), recovery.WaitForRefusedStop(state.Member{Name: nameOf(1)})},
		"stops another Pod that runs if the deletion is refused":                          {lost(with(1, ended), refusedFence(1), with(2, pod(state.PodRunning))), recovery.FenceStop(state.Member{Name: nameOf(2)})},
		"deletes the ended Pod of the survivor if the other deletion is refused":          {lost(with(0, pod(state.PodEnded)), with(1, ended), refusedFence(1)), steps.DeletePod{Name: nameOf(0), Reason: "Recovering", Message: "it must start once with --force-new-cluster"}},
		"stops a Pod that runs again after its deletion was refused":                      {lost(with(1, ended), refusedFence(1), with(1, pod(state.PodRunning))), recovery.FenceStop(state.Member{Name: nameOf(1)})},
	}.run(t)
}
