package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// cutOff: no member answers the operator, and all Pods are ready.
func cutOff(s *state.State) {
	noQuorum(s)
	for i := range s.Members {
		m := &s.Members[i]
		m.Answers, m.PodReady, m.UnreadySince = false, true, time.Time{}
	}
}

func silentFor(d time.Duration) change {
	return func(s *state.State) {
		for i := range s.Members {
			s.Members[i].SilentSince = noon.Add(-d)
		}
	}
}

func TestNothingIsReplacedOrForcedWhileTheOperatorCannotReachTheMembers(t *testing.T) {
	for name, s := range map[string]state.State{
		"all Pods are ready":             stateWith(formed, members(3), cutOff, silentFor(time.Hour)),
		"one member has lost its volume": stateWith(formed, members(3), cutOff, silentFor(time.Hour), with(2, gone)),
		"one member has lost its volume, and the spec consents to a recovery":             stateWith(formed, members(3), cutOff, silentFor(time.Hour), with(2, gone), consenting),
		"the record has a voter that does not exist, and the spec consents to a recovery": stateWith(formed, members(3), cutOff, silentFor(time.Hour), func(s *state.State) { s.KnownVoters = append(s.KnownVoters[:2:2], "x") }, consenting),
		"the spec asks for another version":                                               stateWith(formed, members(3), cutOff, silentFor(time.Hour), ofVersion("3.6.17")),
	} {
		if step, waits := Plan(s).(steps.Wait); !waits {
			t.Errorf("%s: the step is %#v", name, Plan(s))
		} else if recovery.QuorumLost(s) {
			t.Errorf("%s: quorum is said to be lost: %s", name, step.Message)
		}
	}
}

// The user has replaced the CA in the Secrets of TLS.static at once. All Pods are ready, and refuse the operator and new clients until they restart. The
// status named only a NetworkPolicy.
func TestTheStatusNamesMembersThatWereStartedWithOtherCAs(t *testing.T) {
	replaced := func(s *state.State) {
		s.Certificates.Trust = "new"
		for i := range s.Members {
			s.Members[i].Trust = "old"
		}
	}
	for name, c := range map[string]struct {
		change change
		advice string
	}{
		"their data is on volumes":  {func(*state.State) {}, "delete the Pods of these members, one after the other"},
		"their data is in the Pods": {ephemeral, "Put the previous CA and certificates back"},
	} {
		said := steps.Describe(state.State{}, Plan(stateWith(formed, members(3), withTLS, cutOff, silentFor(time.Hour), replaced, c.change))).Message
		if !strings.Contains(said, nameOf(0)+", "+nameOf(1)+", "+nameOf(2)) || !strings.Contains(said, c.advice) {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// All Secrets with the CA of TLS.managed were lost, so the operator made another CA. It does not know which CAs the members trust, and restarts none that is ready. The
// status named a NetworkPolicy only. A Pod can also lose the annotation with its CAs.
func TestTheStatusNamesMembersThatTheOperatorDoesNotRestartForACA(t *testing.T) {
	for name, change := range map[string]change{
		"the CA was lost":                      func(s *state.State) { s.Certificates.Refusing = "" },
		"etcd 3.4, and the CA was lost":        func(s *state.State) { s.Certificates.Refusing = ""; allOf34(s) },
		"etcd 3.4 with other CAs":              func(s *state.State) { s.Certificates.Refusing = "other"; allOf34(s) },
		"the Pods have lost their annotations": func(s *state.State) { s.Members[0].Trust, s.Members[1].Trust, s.Members[2].Trust = "", "", "" },
	} {
		s := stateWith(formed, members(3), managed, refusedByReady, change)
		said := steps.Describe(state.State{}, Plan(s)).Message
		if stopped := stops(s); stopped != "" || !strings.Contains(said, nameOf(0)+", "+nameOf(1)+", "+nameOf(2)+". To have them read the CAs again, delete the Pods") {
			t.Errorf("%s: %q is stopped: %s", name, stopped, said)
		}
	}
	s := stateWith(formed, members(3), managed, refusedByReady, ephemeral, func(s *state.State) { s.Certificates.RefusingExpired = true })
	if said := steps.Describe(state.State{}, Plan(s)).Message; !strings.Contains(said, "crictl stop") {
		t.Errorf("the data is in the Pods, and the CA has expired: %s", said)
	}
}

func allOf34(s *state.State) {
	for i := range s.Members {
		readyWithoutQuorum(&s.Members[i])
	}
}

// The first member was restarted for another CA, and etcd cannot load the new certificate. The status told a person to delete the Pods of the others, which serve
// clients that are connected. Those would not start either.
func TestTheStatusNamesAMemberThatFailsWithTheNewCABeforeOthersAreRestarted(t *testing.T) {
	s := stateWith(formed, members(3), managed, refusedByReady, with(0, func(m *state.Member) {
		m.Trust, m.PodReady, m.Unanswered, m.UnreadySince, m.EtcdSince, m.RaftIndex = "trust", false, "connection refused", noon.Add(-10*time.Minute), time.Time{}, 0
	}), func(s *state.State) { s.Certificates.Refusing = "" })
	said := steps.Describe(state.State{}, Plan(s)).Message
	first, then := strings.Index(said, "Correct what keeps it from starting"), strings.Index(said, "delete the Pods of these members")
	if stopped := stops(s); stopped != "" || first < 0 || then < first {
		t.Errorf("%q is stopped: %s", stopped, said)
	}
}

// The operator replaced an expired CA, and the member that was restarted first has corrupt data. The operator restarts none of the others, because they may serve clients that are
// connected. The status did not say how a person continues (SIM_SEED=110, world 0).
func TestTheStatusSaysHowToContinueIfAMemberNeverStartsWithTheNewCA(t *testing.T) {
	corrupt := with(0, pod(state.PodBlocked), unreadyFor(10*time.Minute), func(m *state.Member) {
		m.Trust, m.PodReason, m.PodMessage, m.Corrupt, m.EtcdSince, m.RaftIndex = "trust", v1beta2.ReasonPodFailing, "its data is corrupt", true, time.Time{}, 0
	})
	down := func(i int) change { return with(i, unreadyFor(10*time.Minute)) }
	for name, s := range map[string]state.State{
		"the others are a quorum":                      stateWith(formed, members(3), managed, refusedByReady, corrupt),
		"the others are no quorum of the known voters": stateWith(formed, members(5), size(5), managed, refusedByReady, corrupt, down(3), down(4)),
	} {
		said := steps.Describe(state.State{}, Plan(s)).Message
		first, then := strings.Index(said, "Correct what keeps it from starting"), strings.Index(said, "delete the Pods of these members")
		if stopped := stops(s); stopped != "" || first < 0 || then < first || !strings.Contains(said, nameOf(1)+", "+nameOf(2)) {
			t.Errorf("%s: %q is stopped: %s", name, stopped, said)
		}
	}
}
