package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// refusesClients: the member trusts an earlier CA of clients and refuses the operator. It votes, because peers have another CA. Its Pod is ready.
func refusesClients(m *state.Member) {
	m.Trust, m.Answers, m.Serving, m.SilentSince, m.Unanswered = "old", false, false, noon.Add(-time.Hour), "tls: bad certificate"
}

// readyOf34: the Pod of etcd 3.4 is ready, and the operator counts since when the member does not answer.
func readyOf34(m *state.Member) {
	m.ReadyAlone, m.UnreadySince, m.FailingSince = true, m.SilentSince, m.SilentSince
}

// A user replaced the CA of clients at once. The first member was restarted and answers. The others refused the operator and all new clients for good: the
// roll waited until they serve.
func TestReadyMembersThatRefuseTheOperatorRestartBesideOneThatAnswers(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		others := func(change func(*state.Member)) change {
			return func(s *state.State) {
				for i := 1; i < n; i++ {
					refusesClients(&s.Members[i])
					change(&s.Members[i])
				}
			}
		}
		if stopped := stops(stateWith(formed, members(n), size(n), managed, others(func(*state.Member) {}))); stopped != nameOf(1) {
			t.Errorf("%d members: %q is stopped, want %s", n, stopped, nameOf(1))
		}
		for name, change := range map[string]func(*state.Member){
			"they do not answer for a moment":   func(m *state.Member) { m.SilentSince = noon.Add(-time.Minute) },
			"they refuse a password only":       func(m *state.Member) { m.Refusal = etcd.RefusedPassword },
			"they trust the present CA":         func(m *state.Member) { m.Trust = "trust" },
			"only their Pods have their data":   func(m *state.Member) { m.DataInPod = true },
			"their node does not answer either": func(m *state.Member) { m.NodeSilent = true },
		} {
			if stopped := stops(stateWith(formed, members(n), size(n), managed, others(change))); stopped != "" {
				t.Errorf("%s, %d members: %s is stopped", name, n, stopped)
			}
		}
	}
}

// One of three members is down, so the quorum is the one that answers and the one that refuses the operator. The latter was restarted, and no client was served.
func TestAMemberThatMayServeUnseenIsNotStoppedWhileAnotherIsDown(t *testing.T) {
	down := with(2, pod(state.PodRunning), unreadyFor(2*time.Minute), func(m *state.Member) { m.FailingSince = m.UnreadySince })
	for name, s := range map[string]state.State{
		"etcd 3.5 and newer": stateWith(formed, members(3), managed, with(1, refusesClients), down),
		"etcd 3.4":           stateWith(formed, members(3), managed, with(1, refusesClients, readyOf34), down),
		"a fence is on, and an earlier operator wrote its probe": stateWith(formed, members(3), managed, down, with(1, refusesClients, func(m *state.Member) {
			m.ProbesAlarm, m.PodReady, m.UnreadySince, m.FailingSince = true, false, noon.Add(-time.Hour), noon.Add(-time.Hour)
		})),
	} {
		if stopped := stops(s); stopped == nameOf(1) {
			t.Errorf("%s: %s is stopped", name, stopped)
		}
	}
	s := stateWith(formed, members(5), size(5), managed, with(1, refusesClients, readyOf34), with(2, pod(state.PodDeleting)))
	if stopped := stops(s); stopped != nameOf(1) {
		t.Errorf("three others serve: %q is stopped, want %s", stopped, nameOf(1))
	}
}

// One member refuses the operator because of its CA, and votes. The node of another one has just ended, and its Pod still counts as ready. The quorum was the one that
// answers and the one that refuses the operator. The latter was restarted, and no client was served until it was back.
func TestAMemberThatServesUnseenIsNotStoppedWhenTheNodeOfAnotherHasJustEnded(t *testing.T) {
	ended := func(since time.Duration) change {
		return with(2, func(m *state.Member) {
			m.Answers, m.Serving, m.SilentSince, m.Unanswered = false, false, noon.Add(-since), "i/o timeout"
		})
	}
	if stopped := stops(stateWith(formed, members(3), managed, with(1, refusesClients), ended(10*time.Second))); stopped != "" {
		t.Errorf("%s is stopped", stopped)
	}
	if stopped := stops(stateWith(formed, members(3), managed, with(1, refusesClients), ended(3*time.Minute))); stopped != nameOf(1) {
		t.Errorf("the Pod of the other one is ready, although it has not answered for three minutes: %q is stopped, want %s", stopped, nameOf(1))
	}
}

// The first member was restarted for another CA of clients and peers. Two of the others refuse it and the operator, and vote by connections that exist, and one answers the
// operator. None of them is restarted, because they are the quorum. The status said to read the log of the first one, and to restart that (SIM_SEED=145, world 18).
func TestTheStatusNamesTheMembersThatRefuseARestartedOne(t *testing.T) {
	first := with(0, restarted(time.Hour, mute(time.Hour), func(m *state.Member) {
		m.Serving, m.Answers, m.Leader, m.SilentSince, m.FailingSince = false, false, false, noon.Add(-time.Hour), noon.Add(-time.Hour)
	}))
	s := stateWith(formed, members(4), size(4), managed, with(3, leads), with(1, refusesClients), with(2, refusesClients), first)
	said := steps.Describe(s, Plan(s)).Message
	if stopped := stops(s); stopped != "" || !strings.Contains(said, nameOf(1)+", "+nameOf(2)+". To have them read the CAs again, delete the Pods of these members") || strings.Contains(said, "Delete the Pod to restart") {
		t.Errorf("%q is stopped: %s", stopped, said)
	}
}
