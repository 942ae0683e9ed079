package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func TestPlanReplacesLostMembersOfFewClustersAtATime(t *testing.T) {
	held := func(s *state.State) {
		s.Replacements = state.Replacements{Held: true, Running: 10, Limit: 10, PerMinute: 20}
	}
	wait := func(cause string) steps.Wait {
		return steps.Wait{Reason: v1beta2.ReasonReplacementDelayed, Message: "Member " + nameOf(1) + " must be replaced, because " + cause + ". The operator replaces lost members in 10 other clusters (limits: 10 at the same time, 20 begun in a minute), so this one waits. A quorum serves. If nodes are down, repair them."}
	}
	corrupt := func(m *state.Member) { m.Corrupt = true }
	planTests{
		"does not replace a member on a lost node yet": {stateWith(formed, members(3), with(1, pod(state.PodDeleting), unreadyFor(time.Hour)), held), wait(isDead)},
		"does not replace a member without data yet":   {stateWith(formed, members(3), with(1, withoutPod, volume(state.VolumeLost)), held), wait(state.LostData)},
		"replaces a member with corrupt data at once":  {stateWith(formed, members(3), with(1, corrupt), held), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.CorruptData}},
		"recreates a missing Pod at once":              {stateWith(formed, members(3), with(1, withoutPod), held), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}},
	}.run(t)
}

func TestAClusterThatIsWholeAgainReplacesNoLostMember(t *testing.T) {
	old := func(s *state.State) { s.Asked.Fence = []string{nameOf(0), nameOf(1), nameOf(2)} } // the operator refuses this, and reports it
	whole := stateWith(formed, members(3), old)
	if _, done := Plan(whole).(steps.Done); done || !repair.Whole(whole) {
		t.Errorf("done: %t, whole: %t, expected that it is whole although something is reported", done, repair.Whole(whole))
	}
	for name, s := range map[string]state.State{
		"one of three members removed": stateWith(formed, members(3), with(2, removed)),
		"a learner":                    stateWith(formed, members(3), with(2, learner)),
		"a silent member":              stateWith(formed, members(3), with(2, func(m *state.Member) { m.Serving = false })),
		"no quorum":                    stateWith(formed, members(3), noQuorum),
	} {
		if repair.Whole(s) {
			t.Errorf("%s: the cluster is taken to be whole", name)
		}
	}
}
