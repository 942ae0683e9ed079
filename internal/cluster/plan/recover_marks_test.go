package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func markedByRecovery(m *state.Member) { m.Recovered = true }

// A recovery was cancelled after it had marked the volumes of members that have served since. Years later, an API backup brought back an old status.
// The mark hid the newest data from the next recovery.
func TestAMemberThatServesLosesTheMarkOfARecovery(t *testing.T) {
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"it serves": {stateWith(formed, members(3), with(1, markedByRecovery)), steps.UnmarkVolume{Name: nameOf(1)}},
		"it serves, but the API server refuses the change": {stateWith(formed, members(3), with(1, markedByRecovery), func(s *state.State) {
			s.Held = []state.Held{{Step: steps.RepeatKey(*s, steps.UnmarkVolume{Name: nameOf(1)}), Until: noon.Add(time.Hour)}}
		}), nil},
		"no quorum answers":             {stateWith(formed, members(3), noQuorum, with(1, markedByRecovery)), nil},
		"it does not serve":             {stateWith(formed, members(3), with(1, markedByRecovery, func(m *state.Member) { m.Serving = false })), nil},
		"it learns":                     {stateWith(formed, members(3), with(1, markedByRecovery, learner)), nil},
		"it is no member":               {stateWith(formed, members(3), with(3, volume(state.VolumePresent), markedByRecovery)), nil},
		"its volume is another one":     {stateWith(formed, members(3), with(1, markedByRecovery), recorded, with(1, copied)), nil},
		"a recovery continues from 0":   {stateWith(formed, members(3), with(1, markedByRecovery), recoveredFrom0(v1beta2.RecoveryGrowing)), nil},
		"a recovery forces member 0":    {stateWith(formed, members(3), with(1, markedByRecovery), recoveredFrom0(v1beta2.RecoveryForcing)), nil},
		"a recovery is complete for it": {stateWith(formed, members(3), with(1, markedByRecovery), recoveredFrom0(v1beta2.RecoveryComplete)), steps.UnmarkVolume{Name: nameOf(1)}},
	} {
		if step := recovery.UnmarkVolumes(test.state); step != test.want {
			t.Errorf("%s: the step is %T %+v, want %T", name, step, step, test.want)
		}
	}
}

// recoveredFrom0 has a recovery from member 0, which began with the voters 0, 1 and 2.
func recoveredFrom0(step v1beta2.RecoveryStep) func(*state.State) {
	return func(s *state.State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: step, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(1), nameOf(2)}}
	}
}

// A recovery that was cancelled has marked the volume of member 3, which votes. An API backup brings back a status from before 3 was added. All Pods
// were restarted, so no member answers with its membership. 1 and 2 have lost their data. The operator continued from member 0, without writes that
// etcd had acknowledged, and member 3 had them.
func TestARecoveryPassesOverNoMarkedDataThatTheStatusDoesNotExplain(t *testing.T) {
	for name, test := range map[string]struct {
		marked, accepted bool
		pod              state.PodState
	}{
		"not marked":                {false, false, state.PodRunning},
		"marked, and runs":          {true, false, state.PodRunning},
		"marked, and has no Pod":    {true, false, state.PodNone},
		"marked, runs, is accepted": {true, true, state.PodRunning},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(formed, members(4), noQuorum, consenting, with(1, gone), with(2, gone))
			s.KnownVoters = []string{nameOf(0), nameOf(1), nameOf(2)} // of the old status
			for i, index := range map[int]uint64{0: 42, 3: 100} {
				with(i, pod(state.PodRunning))(&s)
				s.Members[i].RaftIndex, s.Members[i].UnreadySince = index, noon.Add(-time.Hour)
			}
			s.Members[3].Recovered = test.marked
			s.Members[3].VolumeID.Claim = "claim-3"
			if test.pod == state.PodNone {
				with(3, withoutPod)(&s)
			}
			if test.accepted {
				s.Asked.AcceptVolumes = []string{"claim-3"}
			}
			step := Plan(s)
			begin, begins := step.(steps.BeginRecovery)
			wait, waits := step.(steps.Wait)
			if doubt := test.marked && !test.accepted; !doubt && begin.Member != nameOf(3) {
				t.Errorf("the step is %T %+v, and member 3 has the newest data", step, step)
			} else if doubt && (begins || !waits || wait.Reason != v1beta2.ReasonQuorumLost || !strings.Contains(wait.Message, v1beta2.AnnotationAcceptVolumes+"=claim-3")) {
				t.Errorf("no person decides about member 3: %T %+v", step, step)
			}
		})
	}
}

// The status has its voters, and said that it is lost.
func TestAMarkedVolumeOfARemovedMemberLeavesTheStatusTrue(t *testing.T) {
	s := stateWith(formed, members(4), noQuorum, with(1, gone), with(2, gone), with(3, withoutPod, markedByRecovery))
	s.KnownVoters = []string{nameOf(0), nameOf(1), nameOf(2)}
	with(0, pod(state.PodRunning))(&s)
	for _, consent := range []bool{false, true} {
		if consent {
			consenting(&s)
		}
		wait, is := Plan(s).(steps.Wait)
		if !is || wait.Reason != v1beta2.ReasonQuorumLost || strings.Contains(wait.Message, "status is lost") {
			t.Errorf("with consent %t: %+v", consent, wait)
		}
		if step := recovery.WaitForMarked(s); step != nil {
			t.Errorf("with consent %t: %+v", consent, step)
		}
	}
	if slices.ContainsFunc(recovery.InDoubt(s), func(m state.Member) bool { return m.Name != nameOf(3) }) {
		t.Errorf("in doubt are %v", state.MemberNames(recovery.InDoubt(s)))
	}
}
