package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// readyAndAnswering: the members of etcd 3.4 answer the operator that they have no quorum. But their Pods are ready.
func readyAndAnswering(s *state.State) {
	for i := range s.Members {
		readyWithoutQuorum(&s.Members[i])
		answering(&s.Members[i])
	}
}

// The CA of peers was replaced at once, and that of the operator's certificate was not. The members refuse each other, and say so to the operator. Those
// of etcd 3.4 were never restarted, because their Pods are ready.
func TestMembersOf34ThatAnswerWithoutAQuorumRestartForANewCA(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		s := stateWith(formed, members(n), size(n), managed, refusedByReady, readyAndAnswering)
		if stopped := stops(s); stopped != nameOf(0) {
			t.Errorf("%d members: %q is stopped, want %s", n, stopped, nameOf(0))
		}
		fails := func(m *state.Member) { m.Pod, m.Answers, m.PodReady = state.PodBlocked, false, false }
		s = stateWith(formed, members(n), size(n), managed, refusedByReady, readyAndAnswering, with(0, restarted(time.Hour, fails)))
		if stopped := stops(s); stopped != nameOf(1) {
			t.Errorf("%d members, the first does not start: %q is stopped, want %s", n, stopped, nameOf(1))
		}
	}
}

// Some of the members were started again without a quorum, so they show only their metrics. If they are too few for a quorum, no client is served.
func TestTooFewMembersOf34ForAQuorumDoNotDelayTheRestartForANewCA(t *testing.T) {
	silent := func(m *state.Member) { m.Answers, m.Unanswered = false, "deadline exceeded" }
	s := stateWith(formed, members(3), managed, refusedByReady, func(s *state.State) { s.Certificates.Refusing = "other" }, readyAndAnswering, with(1, silent))
	if stopped := stops(s); stopped != nameOf(0) {
		t.Errorf("one of three is silent: %q is stopped, want %s", stopped, nameOf(0))
	}
	silent(&s.Members[2])
	if stopped := stops(s); stopped != "" {
		t.Errorf("two of three are silent, and may serve clients: %s is stopped", stopped)
	}
}
