package membership_test

import (
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// If the operator is killed between a removal and its record, the remaining voters may still form a quorum.
func TestAVoterThatMayBeRemovedMakesNoLostQuorum(t *testing.T) {
	foreign := func(s *state.State) { s.Removing = plantest.GuestID.String() }
	for name, test := range map[string]struct {
		state   state.State
		holders int
		lost    bool
	}{
		"two of three hold data, and the fourth was being removed":                       {plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, removing(3)), 2, false},
		"one of three holds data, and the fourth was being removed":                      {plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, removing(3)), 1, true},
		"two of four hold data, and none was being removed":                              {plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum), 2, true},
		"two of three hold data, and a foreign voter was being removed":                  {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Guest(), plantest.MayGo, foreign), 2, false},
		"one of three holds data, and a foreign voter was being removed":                 {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Guest(), plantest.MayGo, foreign), 1, true},
		"one of three holds data, and a foreign voter was being removed without consent": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Guest(), foreign), 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := state.TooFew(test.state, test.state.Members[:test.holders]); got != test.lost {
				t.Errorf("quorum is lost: %v, want %v", got, test.lost)
			}
		})
	}
}

// The operator is killed right after etcd has removed the fourth member. Then the third loses its data, and no quorum answers
// yet. The user consents to a recovery, and the first two are a quorum.
func TestAnOperatorThatEndsAfterARemovalForcesNoNewCluster(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.Size(3))
	before := plan.NewStatus(s, steps.Wait{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	for range 3 {
		step := plan.Plan(s)
		if _, removes := step.(steps.RemoveMember); removes {
			break
		}
		before = plan.NewStatus(s, step, nil, before, 1)
		s.Removing = before.RemovingMember
	}
	next := state.NewState(&v1beta2.EtcdCluster{Status: before})
	after := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, plantest.Consenting, plantest.With(2, plantest.Gone), plantest.With(3, plantest.Gone), plantest.With(0, plantest.Knows(42, 3)), plantest.With(1, plantest.Knows(41, 3)))
	after.KnownVoters, after.Removing = next.KnownVoters, next.Removing
	if step, begins := plan.Plan(after).(steps.BeginRecovery); begins {
		t.Errorf("2 of 3 voters hold their data, and the operator begins %+v", step)
	}
}

func TestARemovalIsRecordedUntilAQuorumAnswersWithoutTheMember(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.Size(3))
	first := plan.Plan(s)
	if first != (steps.BeginRemoval{Voter: plantest.NameOf(3), Name: plantest.NameOf(3)}) {
		t.Fatalf("the first step is %+v", first)
	}
	status := plan.NewStatus(s, first, nil, v1beta2.EtcdClusterStatus{}, 1)
	s.Removing = state.NewState(&v1beta2.EtcdCluster{Status: status}).Removing
	removal, removes := plan.Plan(s).(steps.RemoveMember)
	if !removes {
		t.Fatalf("the second step is %+v", plan.Plan(s))
	}
	for name, test := range map[string]struct {
		state state.State
		step  steps.Step
		err   error
		want  string
	}{
		"etcd does not answer":                            {s, removal, errors.New("no answer"), plantest.NameOf(3)},
		"the operator waits before it removes the member": {s, steps.Wait{Reason: v1beta2.ReasonScaling}, nil, plantest.NameOf(3)},
		"no quorum answers":                               {plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, removing(3)), steps.Wait{}, nil, plantest.NameOf(3)},
		"the member is removed":                           {s, removal, nil, ""},
		"a quorum answers without the member":             {plantest.StateWith(plantest.Formed, plantest.Members(3), removing(3)), steps.Done{}, nil, ""},
		"the user sets the size back to 4":                {plantest.StateWith(plantest.Formed, plantest.Members(4), removing(3), plantest.Size(4)), steps.Done{}, nil, ""},
	} {
		if got := plan.NewStatus(test.state, test.step, test.err, status, 1).RemovingMember; got != test.want {
			t.Errorf("%s: %q is recorded, want %q", name, got, test.want)
		}
	}
}

// A restore must detect that members on silent nodes may be a quorum.
func TestAMemberThatMayBeRemovedMakesNoQuorumLarger(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, removing(3))
	if !restore.HaveQuorum(s, s.Members[:2]) {
		t.Error("two members are too few, but they are a quorum of three if the fourth was removed")
	}
}

func TestARemovedForeignVoterIsTakenOffTheRecordAtOnce(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(), plantest.MayGo, func(s *state.State) { s.Removing = plantest.GuestID.String() })
	removal, removes := plan.Plan(s).(steps.RemoveMember)
	if !removes {
		t.Fatalf("the step is %+v", plan.Plan(s))
	}
	if status := plan.NewStatus(s, removal, nil, v1beta2.EtcdClusterStatus{}, 1); len(status.ForeignMembers) != 0 {
		t.Errorf("the status has %+v", status.ForeignMembers)
	}
}

// A person changed the peer URL of a member with etcdctl, and the member is down. The operator must not remove it after the
// grace period for foreign members.
func TestAMemberWithAnotherPeerURLIsRecognisedByItsRecordedID(t *testing.T) {
	first := plantest.StateWith(plantest.Formed, plantest.Members(3))
	status := plan.NewStatus(first, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	silentQuorum := state.NewState(&v1beta2.EtcdCluster{Status: status})
	silentQuorum.Members = []state.Member{{Name: plantest.NameOf(0), Incarnation: 1}, {Name: plantest.NameOf(1), Incarnation: 1}, {Name: plantest.NameOf(2), Incarnation: 1}}
	status = plan.NewStatus(silentQuorum, steps.Wait{}, nil, status, 1) // no member answers in this pass

	const moved = "http://10.9.9.9:2380"
	for name, test := range map[string]struct {
		entry   etcd.Member
		foreign bool
	}{
		"a member that reports its name":         {etcd.Member{ID: 3, Name: plantest.NameOf(2), PeerURLs: []string{moved}}, false},
		"a member that has not started yet":      {etcd.Member{ID: 3, PeerURLs: []string{moved}}, false},
		"another ID with the same name":          {etcd.Member{ID: 9, Name: plantest.NameOf(2), PeerURLs: []string{moved}}, true},
		"another name with the recorded ID":      {etcd.Member{ID: 3, Name: "guest", PeerURLs: []string{moved}}, true},
		"a member that the status does not have": {etcd.Member{ID: 9, PeerURLs: []string{moved}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.StateWith(plantest.Formed, plantest.Members(3), graceForForeign(1), plantest.With(2, plantest.Gone))
			s.KnownIDs = state.NewState(&v1beta2.EtcdCluster{Status: status}).KnownIDs
			s.Members[2].ID, s.Members[2].InMembership = 0, false
			state.Enroll(&s, []etcd.Member{test.entry})
			if got := len(s.ForeignMembers) == 1; got != test.foreign {
				t.Errorf("foreign: %v, want %v; members are %+v", got, test.foreign, s.Members)
			}
			if !test.foreign && (s.Members[2].ID != 3 || !s.Members[2].InMembership) {
				t.Errorf("the member is %+v", s.Members[2])
			}
		})
	}
}
