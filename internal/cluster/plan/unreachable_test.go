package plan

import (
	"testing"
	"time"

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
