package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// unseenNode: neither Kubernetes nor the operator reaches the node of the member, which the other members may reach. Its Pod counts as not ready.
func unseenNode(m *state.Member) {
	m.Answers, m.Serving, m.PodReady, m.NodeSilent, m.Unanswered = false, false, false, true, "i/o timeout"
	m.UnreadySince, m.SilentSince, m.FailingSince = noon.Add(-4*time.Minute), noon.Add(-4*time.Minute), noon.Add(-4*time.Minute)
}

// The nodes of members lost their connection to the API server and to the operator, which the members need for nothing. The operator deleted one Pod after the other. Nothing
// confirmed that, so all of them stopped at the same time when the nodes came back, and no client was served.
func TestNoRuleStopsAMemberThatDoesNotServeWhileItsNodeIsSilent(t *testing.T) {
	growing := func(m *state.Member) {
		m.FileSystemPendingSince, m.PodCreated = noon.Add(-time.Hour), noon.Add(-2*time.Hour)
	}
	outdated := func(m *state.Member) { m.Outdated = true }
	oldCA := func(m *state.Member) { m.Trust = "old" }
	forLong := func(m *state.Member) { m.UnreadySince = noon.Add(-10 * time.Minute) }
	of := func(each ...func(*state.Member)) change {
		return func(s *state.State) {
			for i := range s.Members {
				unseenNode(&s.Members[i])
				for _, c := range each {
					c(&s.Members[i])
				}
			}
		}
	}
	unformed := func(s *state.State) {
		s.ClusterID, s.Incarnation, s.KnownVoters = "", 1, nil
		for i := range s.Members {
			s.Members[i].InitialSize, s.Members[i].InMembership = 3, false
		}
	}
	two := func(change func(*state.Member)) change {
		return func(s *state.State) {
			for i := range 2 {
				unseenNode(&s.Members[i+3])
				change(&s.Members[i+3])
			}
		}
	}
	for rule, s := range map[string]state.State{
		"restartForFileSystem":                   stateWith(formed, members(3), noQuorum, of(growing)),
		"restartForFileSystem, a quorum answers": stateWith(formed, members(5), size(5), two(growing)),
		"restartForNewCA":                        stateWith(formed, members(3), managed, noQuorum, of(oldCA, forLong)),
		"restartForCorrectedCA":                  stateWith(members(3), managed, noQuorum, of(oldCA), unformed),
		"recreateUnhealthy, the spec":            stateWith(formed, members(5), size(5), two(outdated)),
		"recreateUnhealthy, the CA":              stateWith(formed, members(5), size(5), managed, two(oldCA)),
	} {
		if stopped := stops(s); stopped != "" {
			t.Errorf("%s: %s is stopped", rule, stopped)
		}
		for i := range s.Members { // the node is back
			s.Members[i].NodeSilent = false
		}
		if stops(s) == "" {
			t.Errorf("%s: no member is stopped after the node is back: %+v", rule, Plan(s))
		}
	}
}
