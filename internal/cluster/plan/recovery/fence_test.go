package recovery_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// refusedFence: the API server refused to delete the Pod of the i-th member a second ago.
func refusedFence(i int) plantest.Change {
	return func(s *state.State) {
		var r plan.Repeats
		s.Held = append(s.Held, r.Refused(*s, recovery.FenceStop(s.Members[i]), "a webhook"))
	}
}

func TestARecoveryGoesOnWithoutTheDeletionOfAStoppedPodOnlyIfItsMemberHasNoData(t *testing.T) {
	start := steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartForce}
	lost := func(changes ...plantest.Change) state.State {
		return plantest.StateWith(append([]plantest.Change{plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.Consenting, plantest.Forcing(0), plantest.FlagRecorded}, changes...)...)
	}
	ended := func(m *state.Member) { m.Pod, m.Terminated = state.PodEnded, true }
	plantest.Plans{
		"deletes the stopped Pod first":                                                   {lost(plantest.With(1, ended)), recovery.FenceStop(state.Member{Name: plantest.NameOf(1)})},
		"starts the survivor if the deletion is refused and the member has no data":       {lost(plantest.With(1, ended), refusedFence(1)), start},
		"waits if the deletion is refused and the member has data":                        {lost(plantest.With(1, ended, plantest.Volume(state.VolumePresent)), refusedFence(1)), recovery.WaitForRefusedStop(state.Member{Name: plantest.NameOf(1), Terminated: true})},
		"waits if the deletion is refused and no kubelet has reported that the Pod ended": {lost(plantest.With(1, plantest.Pod(state.PodEnded)), refusedFence(1)), recovery.WaitForRefusedStop(state.Member{Name: plantest.NameOf(1)})},
		"stops another Pod that runs if the deletion is refused":                          {lost(plantest.With(1, ended), refusedFence(1), plantest.With(2, plantest.Pod(state.PodRunning))), recovery.FenceStop(state.Member{Name: plantest.NameOf(2)})},
		"deletes the ended Pod of the survivor if the other deletion is refused":          {lost(plantest.With(0, plantest.Pod(state.PodEnded)), plantest.With(1, ended), refusedFence(1)), steps.DeletePod{Name: plantest.NameOf(0), Reason: "Recovering", Message: "it must start once with --force-new-cluster"}},
		"stops a Pod that runs again after its deletion was refused":                      {lost(plantest.With(1, ended), refusedFence(1), plantest.With(1, plantest.Pod(state.PodRunning))), recovery.FenceStop(state.Member{Name: plantest.NameOf(1)})},
	}.Run(t, plan.Plan)
}
