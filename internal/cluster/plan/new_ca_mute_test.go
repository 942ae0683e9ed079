package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// mute: etcd has run for d, and its metrics show its data. It answers no client, because it finds no quorum: the others refuse its certificate. That is
// what etcd 3.4 to 3.7 do.
func mute(d time.Duration) func(*state.Member) {
	return func(m *state.Member) {
		m.RaftIndex, m.EtcdSince, m.Unanswered = 10, noon.Add(-d), "deadline exceeded"
	}
}

// readyWithoutQuorum: the readiness probe of etcd 3.4 asks for metrics only.
func readyWithoutQuorum(m *state.Member) {
	m.ReadyAlone, m.PodReady, m.UnreadySince = true, true, noon.Add(-time.Hour)
}

// The CA was replaced at once. The two members that were not restarted yet refuse the certificate of the first one that was, so it does not get a leader.
// They were never restarted, and refused each new client for good.
func TestAMemberThatTheOthersRefuseDoesNotKeepThemFromTheRestartForANewCA(t *testing.T) {
	for name, change := range map[string]func(*state.Member){
		"etcd 3.5 and newer":                 func(*state.Member) {},
		"etcd 3.4":                           readyWithoutQuorum,
		"a network policy hides the metrics": func(m *state.Member) { m.RaftIndex = 0 },
		"the clock of the operator is behind": func(m *state.Member) {
			m.EtcdSince, m.PodCreated = m.EtcdSince.Add(24*time.Hour), m.EtcdSince.Add(24*time.Hour)
		},
		"the clock of its node is ahead":           func(m *state.Member) { m.EtcdSince, m.PodCreated = noon.Add(time.Hour), m.EtcdSince },
		"it answers, and a clock hides since when": func(m *state.Member) { m.EtcdSince = time.Time{}; answering(m) },
	} {
		for _, n := range []int{3, 5} {
			s := stateWith(formed, members(n), size(n), managed, refusedByReady, with(0, restarted(time.Minute, mute(time.Minute), change)))
			if stopped := stops(s); stopped != "" {
				t.Errorf("%s, %d members: %s is stopped a minute after %s was restarted", name, n, stopped, nameOf(0))
			}
			s = stateWith(formed, members(n), size(n), managed, refusedByReady, with(0, restarted(time.Hour, mute(time.Hour), change)))
			if stopped := stops(s); stopped != nameOf(1) {
				t.Errorf("%s, %d members: %q is stopped an hour after %s was restarted, want %s", name, n, stopped, nameOf(0), nameOf(1))
			}
		}
	}
}

// showsMetrics: the member refuses the operator, which reads its metrics.
func showsMetrics(m *state.Member) { m.RaftIndex = 10 }

// etcd ends again and again. It has started some seconds ago, and so it has shown metrics before.
func TestAMemberThatEndsAgainAndAgainKeepsReadyOnesFromARestartForANewCA(t *testing.T) {
	for name, change := range map[string]func(*state.Member){
		"it has started": func(*state.Member) {},
		"it reads its database": func(m *state.Member) {
			m.EtcdSince, m.StartupBudget, m.RaftIndex = noon.Add(-6*time.Minute), 10*time.Minute, 0
		},
		"its node has ended, and it was not ready before": func(m *state.Member) { m.EtcdSince, m.RaftIndex = noon.Add(-time.Hour), 0 },
		"its node does not answer":                        func(m *state.Member) { m.EtcdSince, m.NodeSilent, m.RaftIndex = noon.Add(-time.Hour), true, 0 },
	} {
		s := stateWith(formed, members(3), managed, refusedByReady, with(1, showsMetrics), with(0, restarted(time.Hour, mute(20*time.Second), change)))
		if stopped := stops(s); stopped != "" {
			t.Errorf("%s: %s is stopped", name, stopped)
		}
	}
}

// Members that have no vote cannot join while the others refuse them. They were not restarted for the CA, so they prove nothing about a restart.
func TestAMemberWithoutAVoteDoesNotDelayTheRestartForANewCA(t *testing.T) {
	for name, change := range map[string]func(*state.Member){
		"its Pod waits until it is added":          func(m *state.Member) { m.Pod, m.Waits = state.PodStarting, true },
		"etcd ends, because the members refuse it": func(m *state.Member) { m.Pod, m.PodReason = state.PodBlocked, v1beta2.ReasonPodFailing },
	} {
		s := stateWith(formed, members(4), size(4), managed, refusedByReady, with(3, restarted(time.Hour, change)), func(s *state.State) {
			s.KnownVoters, s.KnownLearners = s.KnownVoters[:3], s.KnownVoters[3:]
		})
		if stopped := stops(s); stopped != nameOf(0) {
			t.Errorf("%s: %q is stopped, want %s", name, stopped, nameOf(0))
		}
	}
}

// The member runs, and the others refuse it. The status asked to correct what keeps it from starting.
func TestTheStatusDoesNotSayThatAMemberWhichOthersRefuseDoesNotStart(t *testing.T) {
	s := stateWith(formed, members(3), managed, refusedByReady, with(0, restarted(6*time.Minute, mute(time.Minute))))
	if said := steps.Describe(s, Plan(s)).Message; strings.Contains(said, "keeps it from starting") {
		t.Error(said)
	}
}

// The first restart for a new CA failed, so a person put the CA before back. The members that run trust only that one. The Pod that does not start trusts
// both, and kept the certificates from the switch that all others need.
func TestAPodThatDoesNotRunKeepsNoCertificatesFromTheSwitch(t *testing.T) {
	outdated := certs(func(c *state.Certificates) { c.Outdated, c.Wanted, c.Refusing, c.Trust = true, "old", "old", "both" })
	for _, p := range []state.PodState{state.PodBlocked, state.PodStarting, state.PodEnded} {
		notRunning := func(m *state.Member) { m.Trust, m.Pod, m.PodReason = "both", p, v1beta2.ReasonImageUnavailable }
		s := stateWith(formed, members(3), managed, refusedByReady, outdated, with(0, restarted(time.Hour, notRunning)))
		if write, is := certificates.IssueCertificates(s).(steps.WriteCertificates); !is || !write.Switch {
			t.Errorf("%s: %#v", p, certificates.IssueCertificates(s))
		}
	}
	s := stateWith(formed, members(3), managed, refusedByReady, outdated, with(0, restarted(time.Hour, mute(time.Hour), func(m *state.Member) { m.Trust = "new" })))
	if step := certificates.IssueCertificates(s); step != nil {
		t.Errorf("a member runs that trusts only the new CA: %#v", step)
	}
}

// The operator was killed while it removed a voter, and the CA expired then. etcd of that member ends because it was removed. The status asked to correct what keeps it
// from starting, and the members that refuse the operator were never restarted.
func TestAMemberThatMayHaveBeenRemovedDoesNotDelayTheRestartForANewCA(t *testing.T) {
	removed := restarted(time.Hour, func(m *state.Member) {
		m.Pod, m.PodReason, m.PodMessage = state.PodBlocked, v1beta2.ReasonPodFailing, "the member was removed"
	})
	s := stateWith(formed, members(4), size(3), managed, refusedByReady, with(3, removed), func(s *state.State) { s.Removing = nameOf(3) })
	if stopped := stops(s); stopped != nameOf(0) {
		t.Errorf("%q is stopped, want %s", stopped, nameOf(0))
	}
}

// A container has restarted in its Pod a minute ago, and has read the present CA. Its annotation names the CA before, and one read was slow.
func TestAReadyMemberThatHasJustStartedIsNotRestartedForANewCA(t *testing.T) {
	s := stateWith(formed, members(1), size(1), managed, refusedByReady, with(0, func(m *state.Member) { m.EtcdSince = noon.Add(-time.Minute) }))
	if stopped := stops(s); stopped != "" {
		t.Errorf("%s is stopped", stopped)
	}
}
