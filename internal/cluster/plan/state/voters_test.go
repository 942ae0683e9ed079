package state_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func TestAForeignMemberIsNeverTakenForAMember(t *testing.T) {
	named := func(i int) state.State {
		return plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Members = s.Members[:i] })
	}
	for name, test := range map[string]struct {
		entry   etcd.Member
		foreign bool
	}{
		"a member with a Pod":                                           {etcd.Member{Name: plantest.NameOf(0), PeerURLs: []string{plantest.PeerURLOf(0)}}, false},
		"a member that lost Pod and volume":                             {etcd.Member{Name: plantest.NameOf(2), PeerURLs: []string{plantest.PeerURLOf(2)}}, false},
		"a learner that has not started":                                {etcd.Member{PeerURLs: []string{plantest.PeerURLOf(2)}, Learner: true}, false},
		"a member with another cluster domain":                          {etcd.Member{Name: plantest.NameOf(2), PeerURLs: []string{"https://" + plantest.NameOf(2) + ".example.ns.svc.corp:2380"}}, false},
		"a learner that the operator did not add":                       {etcd.Member{PeerURLs: []string{"http://10.0.0.5:2380"}, Learner: true}, true},
		"a member with the name of an unrelated Pod":                    {etcd.Member{Name: "web-0", PeerURLs: []string{"http://web-0.web.ns.svc:2380"}}, true},
		"a member's name with another peer URL":                         {etcd.Member{Name: plantest.NameOf(2), PeerURLs: []string{"http://10.0.0.5:2380"}}, true},
		"a member of an EtcdCluster with the same name and another UID": {etcd.Member{Name: state.InitialNames(state.State{Name: "example", UID: "other"}, 1, 1)[0]}, true},
		"a member with neither name nor URLs":                           {etcd.Member{}, true},
		"a member of a later incarnation":                               {etcd.Member{Name: state.InitialNames(state.State{Name: "example", UID: "uid-example"}, 2, 1)[0]}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := named(2)
			test.entry.ID = 9
			state.Enroll(&s, []etcd.Member{test.entry})
			if got := len(s.ForeignMembers) == 1; got != test.foreign || len(s.Membership()) == len(s.ForeignMembers) && !got {
				t.Errorf("foreign: %v, want %v; members are %+v", got, test.foreign, s.Membership())
			}
		})
	}
}

// The ID that a member reports outranks the status, because users can edit the status.
func TestARecordedIDDoesNotOutrankWhatTheMemberTells(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3))
	s.KnownIDs = map[string]etcd.ID{plantest.NameOf(2): 9}
	state.Enroll(&s, []etcd.Member{{ID: 9, PeerURLs: []string{"http://10.9.9.9:2380"}, Learner: true}})
	if len(s.ForeignMembers) != 1 || s.Members[2].ID != 3 {
		t.Errorf("foreign members are %+v, and member 2 is %+v", s.ForeignMembers, s.Members[2])
	}
}

// A foreign voter is being removed, and a Pod of it may still vote. If it counted twice or not at all, a quorum of voters that the operator did not add would be
// overlooked, and the cluster would continue beside them.
func TestAForeignVoterInDoubtCountsOnceWhileNoMemberAnswers(t *testing.T) {
	foreign := state.ForeignMember{ID: 9}
	for name, test := range map[string]struct {
		known    bool
		removing string
		more     int
	}{
		"it is being removed":                            {false, foreign.ID.String(), 0},
		"it is being removed, and members answer":        {true, foreign.ID.String(), 0},
		"nothing is being removed":                       {false, "", 0},
		"another voter is being removed":                 {false, plantest.NameOf(1), -1},
		"another voter is being removed, members answer": {true, plantest.NameOf(1), 0},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) {
			s.ForeignMembers = []state.ForeignMember{foreign}
		})
		s.MembershipKnown = test.known
		all := state.VotersBeside(s, s.ForeignMembers)
		s.Removing = test.removing
		if voters := state.VotersBeside(s, s.ForeignMembers); voters-all != test.more {
			t.Errorf("%s: %d voters, and %d without that", name, voters, all)
		}
	}
}

// etcd's authentication keeps the operator from reading the membership while a quorum serves. If the operator took that for a lost quorum, it would report lost
// data to a user whose clients are served.
func TestAQuorumThatServesBehindAuthenticationIsNoLostQuorum(t *testing.T) {
	for name, test := range map[string]struct {
		change  plantest.Change
		guarded bool
	}{
		"one member refuses, and serves":       {plantest.With(1, func(m *state.Member) { m.Guarded, m.InService = true, true }), true},
		"one member refuses, and is not ready": {plantest.With(1, func(m *state.Member) { m.Guarded, m.InService = true, false }), false},
		"no member refuses":                    {plantest.With(1, func(m *state.Member) { m.Guarded, m.InService = false, true }), false},
		"the membership is known": {func(s *state.State) {
			s.MembershipKnown, s.Members[1].Guarded, s.Members[1].InService = true, true, true
		}, false},
		"the cluster was never formed": {func(s *state.State) {
			s.ClusterID, s.Members[1].Guarded, s.Members[1].InService = "", true, true
		}, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, test.change)
		if guarded := state.Guarded(s); guarded != test.guarded {
			t.Errorf("%s: %t", name, guarded)
		}
	}
}
