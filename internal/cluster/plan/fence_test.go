package plan

import "testing"

// refusedFence: the API server refused to delete the Pod of the i-th member a second ago.
func refusedFence(i int) change {
	return func(s *State) {
		var r Repeats
		s.Held = append(s.Held, r.Refused(*s, fenceStop(s.Members[i]), "a webhook"))
	}
}

func TestARecoveryGoesOnWithoutTheDeletionOfAStoppedPodOnlyIfItsMemberHasNoData(t *testing.T) {
	start := CreateMember{Name: nameOf(0), Incarnation: 1, Start: StartForce}
	lost := func(changes ...change) State {
		return state(append([]change{formed, members(3), noQuorum, with(0, withoutPod), with(1, gone), with(2, gone), consenting, forcing(0), flagRecorded}, changes...)...)
	}
	ended := func(m *Member) { m.Pod, m.Terminated = PodEnded, true }
	planTests{
		"its deletion is tried":                              {lost(with(1, ended)), fenceStop(Member{Name: nameOf(1)})},
		"it is refused, and the member has none":             {lost(with(1, ended), refusedFence(1)), start},
		"it is refused, and the member has data":             {lost(with(1, ended, volume(VolumePresent)), refusedFence(1)), waitForRefusedStop(Member{Name: nameOf(1), Terminated: true})},
		"it is refused, and no kubelet has reported its end": {lost(with(1, pod(PodEnded)), refusedFence(1)), waitForRefusedStop(Member{Name: nameOf(1)})},
		"another Pod runs":                                   {lost(with(1, ended), refusedFence(1), with(2, pod(PodRunning))), fenceStop(Member{Name: nameOf(2)})},
		"the Pod of the survivor has ended, too":             {lost(with(0, pod(PodEnded)), with(1, ended), refusedFence(1)), DeletePod{Name: nameOf(0), Reason: "Recovering", Message: "it must start once with --force-new-cluster"}},
		"a Pod that was refused runs again by now":           {lost(with(1, ended), refusedFence(1), with(1, pod(PodRunning))), fenceStop(Member{Name: nameOf(1)})},
	}.run(t)
}
