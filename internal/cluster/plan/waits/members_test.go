package waits_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// etcd refuses to make a learner or a silent member the leader. The cluster would wait for that without an end.
func TestLeadershipIsMovedOnlyToAVoterThatServes(t *testing.T) {
	for name, cannot := range map[string]func(*state.Member){
		"a learner that serves":         func(m *state.Member) { m.Learner = true },
		"a voter that does not serve":   func(m *state.Member) { m.Serving = false },
		"a learner that does not serve": func(m *state.Member) { m.Learner, m.Serving = true, false },
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, cannot))
		if move, is := waits.MoveLeader(s, s.Members[0]).(steps.MoveLeader); !is || move.Name != plantest.NameOf(2) {
			t.Errorf("beside %s: %+v", name, move)
		}
		s = plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.With(1, cannot))
		if move := waits.MoveLeader(s, s.Members[0]); move != nil {
			t.Errorf("only %s is left: %+v", name, move)
		}
	}
}

// A member is replaced, and the new one finds no node. A user who reads that while it only has another fault would add a node for nothing.
func TestANodeIsAskedForOnlyIfTheReplacementFindsNone(t *testing.T) {
	for name, test := range map[string]struct {
		learner func(*state.Member)
		asked   bool
	}{
		"it finds no node":         {plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), true},
		"its image cannot be read": {plantest.BlockedBy(v1beta2.ReasonPodFailing), false},
		"it is starting": {func(m *state.Member) {
			plantest.Pod(state.PodStarting)(m)
			m.PodReason = v1beta2.ReasonPodUnschedulable
		}, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(3, plantest.Learner, test.learner))
		s.Asked.Replace = []string{plantest.NameOf(1)}
		wait, is := waits.ReplacementUnschedulable(s).(steps.Wait)
		if asked := is && strings.Contains(wait.Message, "It replaces member "+plantest.NameOf(1)) && strings.Contains(wait.Message, "or remove the annotation"); asked != test.asked || is != asked {
			t.Errorf("%s: %+v", name, wait)
		}
		s.Asked.Replace = nil
		if step := waits.ReplacementUnschedulable(s); step != nil {
			t.Errorf("%s, and no member is replaced: %+v", name, step)
		}
	}
}
