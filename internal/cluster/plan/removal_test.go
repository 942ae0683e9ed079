package plan

import (
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// If the operator is killed between a removal and its record, the remaining voters may still form a quorum.
func TestAVoterThatMayBeRemovedMakesNoLostQuorum(t *testing.T) {
	foreign := func(s *state.State) { s.Removing = guestID.String() }
	for name, test := range map[string]struct {
		state   state.State
		holders int
		lost    bool
	}{
		"two of three hold data, and the fourth was being removed":                       {stateWith(formed, members(4), noQuorum, removing(3)), 2, false},
		"one of three holds data, and the fourth was being removed":                      {stateWith(formed, members(4), noQuorum, removing(3)), 1, true},
		"two of four hold data, and none was being removed":                              {stateWith(formed, members(4), noQuorum), 2, true},
		"two of three hold data, and a foreign voter was being removed":                  {stateWith(formed, members(3), noQuorum, guest(), mayGo, foreign), 2, false},
		"one of three holds data, and a foreign voter was being removed":                 {stateWith(formed, members(3), noQuorum, guest(), mayGo, foreign), 1, true},
		"one of three holds data, and a foreign voter was being removed without consent": {stateWith(formed, members(3), noQuorum, guest(), foreign), 1, true},
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
	s := stateWith(formed, members(4), size(3))
	before := NewStatus(s, steps.Wait{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	for range 3 {
		step := Plan(s)
		if _, removes := step.(steps.RemoveMember); removes {
			break
		}
		before = NewStatus(s, step, nil, before, 1)
		s.Removing = before.RemovingMember
	}
	next := state.NewState(&v1beta2.EtcdCluster{Status: before})
	after := stateWith(formed, members(4), noQuorum, consenting, with(2, gone), with(3, gone), with(0, knows(42, 3)), with(1, knows(41, 3)))
	after.KnownVoters, after.Removing = next.KnownVoters, next.Removing
	if step, begins := Plan(after).(steps.BeginRecovery); begins {
		t.Errorf("2 of 3 voters hold their data, and the operator begins %+v", step)
	}
}

func TestARemovalIsRecordedUntilAQuorumAnswersWithoutTheMember(t *testing.T) {
	s := stateWith(formed, members(4), size(3))
	first := Plan(s)
	if first != (steps.BeginRemoval{Voter: nameOf(3), Name: nameOf(3)}) {
		t.Fatalf("the first step is %+v", first)
	}
	status := NewStatus(s, first, nil, v1beta2.EtcdClusterStatus{}, 1)
	s.Removing = state.NewState(&v1beta2.EtcdCluster{Status: status}).Removing
	removal, removes := Plan(s).(steps.RemoveMember)
	if !removes {
		t.Fatalf("the second step is %+v", Plan(s))
	}
	for name, test := range map[string]struct {
		state state.State
		step  steps.Step
		err   error
		want  string
	}{
		"etcd does not answer":                            {s, removal, errors.New("no answer"), nameOf(3)},
		"the operator waits before it removes the member": {s, steps.Wait{Reason: v1beta2.ReasonScaling}, nil, nameOf(3)},
		"no quorum answers":                               {stateWith(formed, members(4), noQuorum, removing(3)), steps.Wait{}, nil, nameOf(3)},
		"the member is removed":                           {s, removal, nil, ""},
		"a quorum answers without the member":             {stateWith(formed, members(3), removing(3)), steps.Done{}, nil, ""},
		"the user sets the size back to 4":                {stateWith(formed, members(4), removing(3), size(4)), steps.Done{}, nil, ""},
	} {
		if got := NewStatus(test.state, test.step, test.err, status, 1).RemovingMember; got != test.want {
			t.Errorf("%s: %q is recorded, want %q", name, got, test.want)
		}
	}
}

// A restore must detect that members on silent nodes may be a quorum.
func TestAMemberThatMayBeRemovedMakesNoQuorumLarger(t *testing.T) {
	s := stateWith(formed, members(4), noQuorum, removing(3))
	if !restore.HaveQuorum(s, s.Members[:2]) {
		t.Error("two members are too few, but they are a quorum of three if the fourth was removed")
	}
}

func TestARemovedForeignVoterIsTakenOffTheRecordAtOnce(t *testing.T) {
	s := stateWith(formed, members(3), guest(), mayGo, func(s *state.State) { s.Removing = guestID.String() })
	removal, removes := Plan(s).(steps.RemoveMember)
	if !removes {
		t.Fatalf("the step is %+v", Plan(s))
	}
	if status := NewStatus(s, removal, nil, v1beta2.EtcdClusterStatus{}, 1); len(status.ForeignMembers) != 0 {
		t.Errorf("the status has %+v", status.ForeignMembers)
	}
}

// A person changed the peer URL of a member with etcdctl, and the member is down. The operator must not remove it after the
// grace period for foreign members.
func TestAMemberWithAnotherPeerURLIsRecognisedByItsRecordedID(t *testing.T) {
	first := stateWith(formed, members(3))
	status := NewStatus(first, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	silentQuorum := state.NewState(&v1beta2.EtcdCluster{Status: status})
	silentQuorum.Members = []state.Member{{Name: nameOf(0), Incarnation: 1}, {Name: nameOf(1), Incarnation: 1}, {Name: nameOf(2), Incarnation: 1}}
	status = NewStatus(silentQuorum, steps.Wait{}, nil, status, 1) // no member answers in this pass

	const moved = "http://10.9.9.9:2380"
	for name, test := range map[string]struct {
		entry   etcd.Member
		foreign bool
	}{
		"a member that reports its name":         {etcd.Member{ID: 3, Name: nameOf(2), PeerURLs: []string{moved}}, false},
		"a member that has not started yet":      {etcd.Member{ID: 3, PeerURLs: []string{moved}}, false},
		"another ID with the same name":          {etcd.Member{ID: 9, Name: nameOf(2), PeerURLs: []string{moved}}, true},
		"another name with the recorded ID":      {etcd.Member{ID: 3, Name: "guest", PeerURLs: []string{moved}}, true},
		"a member that the status does not have": {etcd.Member{ID: 9, PeerURLs: []string{moved}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(formed, members(3), graceForForeign(1), with(2, gone))
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
