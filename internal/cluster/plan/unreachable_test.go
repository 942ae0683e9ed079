package plan

import (
	"testing"
	"time"
)

// cutOff: no member answers the operator, and all Pods are ready.
func cutOff(s *State) {
	noQuorum(s)
	for i := range s.Members {
		m := &s.Members[i]
		m.Answers, m.PodReady, m.UnreadySince = false, true, time.Time{}
	}
}

func silentFor(d time.Duration) change {
	return func(s *State) {
		for i := range s.Members {
			s.Members[i].SilentSince = noon.Add(-d)
		}
	}
}

func TestNothingIsReplacedOrForcedWhileTheOperatorCannotReachTheMembers(t *testing.T) {
	for name, s := range map[string]State{
		"all Pods are ready":             state(formed, members(3), cutOff, silentFor(time.Hour)),
		"one member has lost its volume": state(formed, members(3), cutOff, silentFor(time.Hour), with(2, gone)),
		"one member has lost its volume, and the spec consents to a recovery":             state(formed, members(3), cutOff, silentFor(time.Hour), with(2, gone), consenting),
		"the record has a voter that does not exist, and the spec consents to a recovery": state(formed, members(3), cutOff, silentFor(time.Hour), func(s *State) { s.KnownVoters = append(s.KnownVoters[:2:2], "x") }, consenting),
		"the spec asks for another version":                                               state(formed, members(3), cutOff, silentFor(time.Hour), ofVersion("3.6.17")),
	} {
		if step, waits := Plan(s).(Wait); !waits {
			t.Errorf("%s: the step is %#v", name, Plan(s))
		} else if s.QuorumLost() {
			t.Errorf("%s: quorum is said to be lost: %s", name, step.Message)
		}
	}
}
