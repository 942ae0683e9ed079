package recovery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A recovery was cancelled after it had marked the volumes of members that have served since. Years later, an API backup brought back an old status.
// The mark hid the newest data from the next recovery.
func TestAMemberThatServesLosesTheMarkOfARecovery(t *testing.T) {
	for name, test := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"it serves": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.MarkedByRecovery)), steps.UnmarkVolume{Name: plantest.NameOf(1)}},
		"it serves, but the API server refuses the change": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.MarkedByRecovery), func(s *state.State) {
			s.Held = []state.Held{{Step: steps.RepeatKey(*s, steps.UnmarkVolume{Name: plantest.NameOf(1)}), Until: plantest.Noon.Add(time.Hour)}}
		}), nil},
		"no quorum answers":             {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.MarkedByRecovery)), nil},
		"it does not serve":             {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.MarkedByRecovery, func(m *state.Member) { m.Serving = false })), nil},
		"it learns":                     {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.MarkedByRecovery, plantest.Learner)), nil},
		"it is no member":               {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Volume(state.VolumePresent), plantest.MarkedByRecovery)), nil},
		"its volume is another one":     {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.MarkedByRecovery), plantest.Recorded, plantest.With(1, plantest.Copied)), nil},
		"a recovery continues from 0":   {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.MarkedByRecovery), recoveredFrom0(v1beta2.RecoveryGrowing)), nil},
		"a recovery forces member 0":    {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.MarkedByRecovery), recoveredFrom0(v1beta2.RecoveryForcing)), nil},
		"a recovery is complete for it": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.MarkedByRecovery), recoveredFrom0(v1beta2.RecoveryComplete)), steps.UnmarkVolume{Name: plantest.NameOf(1)}},
	} {
		if step := recovery.UnmarkVolumes(test.state); step != test.want {
			t.Errorf("%s: the step is %T %+v, want %T", name, step, step, test.want)
		}
	}
}

// recoveredFrom0 has a recovery from member 0, which began with the voters 0, 1 and 2.
func recoveredFrom0(step v1beta2.RecoveryStep) func(*state.State) {
	return func(s *state.State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: step, Member: plantest.NameOf(0), Voters: []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}}
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
			s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, plantest.Consenting, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone))
			s.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)} // of the old status
			for i, index := range map[int]uint64{0: 42, 3: 100} {
				plantest.With(i, plantest.Pod(state.PodRunning))(&s)
				s.Members[i].RaftIndex, s.Members[i].UnreadySince = index, plantest.Noon.Add(-time.Hour)
			}
			s.Members[3].Recovered = test.marked
			s.Members[3].VolumeID.Claim = "claim-3"
			if test.pod == state.PodNone {
				plantest.With(3, plantest.WithoutPod)(&s)
			}
			if test.accepted {
				s.Asked.AcceptVolumes = []string{"claim-3"}
			}
			step := plan.Plan(s)
			begin, begins := step.(steps.BeginRecovery)
			wait, waits := step.(steps.Wait)
			if doubt := test.marked && !test.accepted; !doubt && begin.Member != plantest.NameOf(3) {
				t.Errorf("the step is %T %+v, and member 3 has the newest data", step, step)
			} else if doubt && (begins || !waits || wait.Reason != v1beta2.ReasonQuorumLost || !strings.Contains(wait.Message, v1beta2.AnnotationAcceptVolumes+"=claim-3")) {
				t.Errorf("no person decides about member 3: %T %+v", step, step)
			}
		})
	}
}

// The status has its voters, and said that it is lost.
func TestAMarkedVolumeOfARemovedMemberLeavesTheStatusTrue(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(3, plantest.WithoutPod, plantest.MarkedByRecovery))
	s.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
	plantest.With(0, plantest.Pod(state.PodRunning))(&s)
	for _, consent := range []bool{false, true} {
		if consent {
			plantest.Consenting(&s)
		}
		wait, is := plan.Plan(s).(steps.Wait)
		if !is || wait.Reason != v1beta2.ReasonQuorumLost || strings.Contains(wait.Message, "status is lost") {
			t.Errorf("with consent %t: %+v", consent, wait)
		}
		if step := recovery.WaitForMarked(s); step != nil {
			t.Errorf("with consent %t: %+v", consent, step)
		}
	}
	if slices.ContainsFunc(recovery.InDoubt(s), func(m state.Member) bool { return m.Name != plantest.NameOf(3) }) {
		t.Errorf("in doubt are %v", state.MemberNames(recovery.InDoubt(s)))
	}
}

// Etcd's data and the status are lost, as after a restore of the API server. If the operator started a member whose volume has a mark without a time, the cluster
// could continue from data that an earlier recovery had replaced.
func TestAMarkWithoutATimeCountsIfTheStatusNamesNoVoter(t *testing.T) {
	for name, test := range map[string]struct {
		voters []string
		waits  bool
	}{
		"no voter is known":    {nil, true},
		"the voters are known": {[]string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.MarkedByRecovery, plantest.WithoutPod))
		s.KnownVoters = test.voters
		if _, waits := recovery.WaitForMarked(s).(steps.Wait); waits != test.waits {
			t.Errorf("%s: the operator waits for a person: %t", name, waits)
		}
	}
}
