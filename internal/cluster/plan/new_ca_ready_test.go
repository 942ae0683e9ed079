package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// refusedByReady: all Pods are ready, and all members have refused the operator for an hour, because they were started with an earlier CA. Clients
// that are connected are served.
func refusedByReady(s *state.State) {
	cutOff(s)
	silentFor(time.Hour)(s)
	s.Certificates.Refusing = "old"
	for i := range s.Members {
		s.Members[i].Trust = "old"
	}
}

// restarted: the member has been restarted for the present CA, and its Pod has not been ready for as long.
func restarted(d time.Duration, changes ...func(*state.Member)) func(*state.Member) {
	return func(m *state.Member) {
		m.Trust, m.PodReady, m.UnreadySince = "trust", false, noon.Add(-d)
		for _, c := range changes {
			c(m)
		}
	}
}

func answering(m *state.Member) { m.Answers, m.Unanswered = true, "" }

// stops returns the member that the plan stops, or an empty name.
func stops(s state.State) string {
	if stop, is := Plan(s).(steps.DeletePod); is {
		return stop.Name
	}
	return ""
}

// The first member that is restarted for a new CA does not come back, because of what the spec or Kubernetes has by now. The operator restarted all others,
// too, five minutes after each other, although they served the clients that were connected.
func TestAMemberThatDoesNotComeBackKeepsReadyOnesFromARestartForANewCA(t *testing.T) {
	overdue := func(m *state.Member) { m.Pod, m.GoneBy = state.PodDeleting, noon.Add(-time.Minute) }
	for name, fails := range map[string]func(*state.Member){
		"its image cannot be pulled":                    func(m *state.Member) { m.Pod, m.PodReason = state.PodBlocked, v1beta2.ReasonImageUnavailable },
		"etcd refuses the flags":                        func(m *state.Member) { m.Pod, m.PodReason = state.PodBlocked, v1beta2.ReasonPodFailing },
		"no node has room for it":                       func(m *state.Member) { m.Pod, m.PodReason = state.PodBlocked, v1beta2.ReasonPodUnschedulable },
		"its container starts, and does not answer yet": func(m *state.Member) { m.Pod = state.PodStarting },
		"the kubelet takes long to stop it":             overdue,
		"a finalizer keeps its Pod":                     func(m *state.Member) { overdue(m); m.Held, m.Terminated = true, true },
	} {
		for _, n := range []int{2, 3, 5} {
			s := stateWith(formed, members(n), size(n), managed, refusedByReady, with(0, restarted(time.Hour, fails)))
			if stopped := stops(s); stopped != "" && stopped != nameOf(0) {
				t.Errorf("%s, %d members: %s is restarted, too", name, n, stopped)
			}
		}
	}
}

// A member that has restarted answers before it has caught up. The others are the quorum of the clients that are connected, so they run until it serves.
// If they refuse it, too, it never serves, and they are restarted after startGrace.
func TestAMemberThatRestartedForANewCAGetsTimeToServeBeforeTheNextOneRestarts(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		s := stateWith(formed, members(n), size(n), managed, refusedByReady, with(0, restarted(20*time.Second, answering)))
		if stopped := stops(s); stopped != "" {
			t.Errorf("%d members: %s is stopped 20 seconds after %s was restarted", n, stopped, nameOf(0))
		}
		s = stateWith(formed, members(n), size(n), managed, refusedByReady, with(0, restarted(6*time.Minute, answering)))
		if stopped := stops(s); stopped != nameOf(1) {
			t.Errorf("%d members: %q is stopped, but the others never learn of the CA", n, stopped)
		}
	}
}

// One of three members is not ready, so the two others are the quorum of the clients that are connected.
func TestAMemberThatIsNotReadyRestartsForANewCAFirst(t *testing.T) {
	s := stateWith(formed, members(3), managed, refusedByReady, with(2, func(m *state.Member) { m.PodReady, m.UnreadySince = false, noon.Add(-time.Hour) }))
	if stopped := stops(s); stopped != nameOf(2) {
		t.Errorf("%q is stopped, want %s", stopped, nameOf(2))
	}
}

// A member accepts the certificate of the operator, and refuses its password. Its container has restarted in the same Pod, so the annotation names the CAs of
// the start before.
func TestAReadyMemberThatOnlyRefusesThePasswordIsNotRestartedForANewCA(t *testing.T) {
	s := stateWith(formed, members(3), managed, refusedByReady, func(s *state.State) {
		for i := range s.Members {
			s.Members[i].Guarded, s.Members[i].Refusal = true, etcd.RefusedPassword
		}
	})
	if stopped := stops(s); stopped != "" {
		t.Errorf("%s is stopped", stopped)
	}
}

// TLS accepts the operator only if the member trusts its CA. So the rule must restart nothing in these states.
func TestNoReadyMemberRestartsWhileTheOperatorOnlyCannotReachIt(t *testing.T) {
	for name, change := range map[string]change{
		"the members trust the CA of the operator": func(s *state.State) { s.Certificates.Refusing = "other" },
		"the operator has just been started":       silentFor(time.Second),
		"the data is in the Pods":                  ephemeral,
		"the Pods of etcd 3.4 tell nothing": func(s *state.State) {
			s.Certificates.Refusing = "other"
			for i := range s.Members {
				readyWithoutQuorum(&s.Members[i])
			}
		},
		"another member serves": with(1, func(m *state.Member) { m.Answers, m.Serving = true, true }),
	} {
		for _, n := range []int{1, 2, 3, 5} {
			if name == "another member serves" && n == 1 {
				continue
			}
			if stopped := stops(stateWith(formed, members(n), size(n), managed, refusedByReady, change)); stopped != "" {
				t.Errorf("%s, %d members: %s is stopped", name, n, stopped)
			}
		}
	}
}

// One pass without an answer does not prove that the members refuse the certificates: their containers may have restarted with the CAs that the Secrets hold.
func TestCertificatesAreNotSwitchedAfterOnePassWithoutAnAnswer(t *testing.T) {
	outdated := certs(func(c *state.Certificates) { c.Outdated, c.Wanted, c.Refusing, c.Trust = true, "old", "old", "both" })
	switched := func(d time.Duration) bool {
		write, is := Plan(stateWith(formed, members(3), managed, refusedByReady, outdated, silentFor(d))).(steps.WriteCertificates)
		return is && write.Switch
	}
	if switched(time.Second) {
		t.Error("all certificates are switched after a second")
	}
	if !switched(time.Hour) {
		t.Error("the certificates are not switched, but all members have refused them for an hour")
	}
}

// The operator waits for the member that it has restarted, and only a person can correct what keeps it from coming back.
func TestTheStatusNamesTheMemberThatDoesNotComeBackFromARestartForANewCA(t *testing.T) {
	fails := func(m *state.Member) {
		m.Pod, m.PodReason, m.PodMessage = state.PodBlocked, v1beta2.ReasonImageUnavailable, "the image does not exist"
	}
	s := stateWith(formed, members(3), managed, refusedByReady, with(0, restarted(time.Hour, fails)))
	if said := steps.Describe(s, Plan(s)).Message; !strings.Contains(said, nameOf(0)) || !strings.Contains(said, "the image does not exist") {
		t.Error(said)
	}
}

// The nodes of all members lost their connection to the API server, which the members need for nothing. Their Pods count as not ready, and they serve clients that are
// connected. The operator deleted one Pod after the other, because the deletion of each was overdue. When the nodes came back, all members stopped at once.
func TestMembersWhoseNodesAreSilentAreNotStoppedForANewCA(t *testing.T) {
	silent := func(m *state.Member) {
		m.PodReady, m.NodeSilent, m.UnreadySince = false, true, noon.Add(-10*time.Minute)
	}
	s := stateWith(formed, members(3), managed, refusedByReady, with(0, silent), with(1, silent), with(2, silent))
	if stopped := stops(s); stopped != "" {
		t.Errorf("%s is stopped", stopped)
	}
	overdue := with(0, func(m *state.Member) { m.Pod, m.GoneBy = state.PodDeleting, noon.Add(-10*time.Minute) })
	if stopped := stops(stateWith(formed, members(3), managed, refusedByReady, with(0, silent), with(1, silent), with(2, silent), overdue)); stopped != "" {
		t.Errorf("%s is stopped, too", stopped)
	}
}
