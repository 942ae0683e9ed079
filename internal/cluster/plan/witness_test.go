package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// knowing has a member answer with the membership that it has applied up to an index. Negative numbers are learners.
func knowing(index int64, own []int, foreign ...int) func(*state.Member) {
	return func(m *state.Member) {
		m.Answers, m.AppliedIndex, m.RaftIndex, m.Knows = true, index, uint64(index), nil
		for _, i := range own {
			n := max(i, -i-1)
			m.Knows = append(m.Knows, etcd.Member{ID: etcd.ID(n + 1), Name: nameOf(n), PeerURLs: []string{peerURLOf(n)}, Learner: i < 0})
		}
		for _, id := range foreign {
			m.Knows = append(m.Knows, etcd.Member{ID: etcd.ID(max(id, -id)), PeerURLs: []string{fmt.Sprintf("http://guest-%d:2380", max(id, -id))}, Learner: id < 0})
		}
		i := slices.IndexFunc(m.Knows, func(entry etcd.Member) bool { return entry.Name == m.Name })
		if i >= 0 {
			m.ID = m.Knows[i].ID
		}
	}
}

func heard(s *state.State) { recovery.HearWitness(s) }

// muteAt is a member that was started without a quorum: it serves its metrics only.
func muteAt(index uint64) func(*state.Member) {
	return func(m *state.Member) { m.Answers, m.RaftIndex, m.Pod = false, index, state.PodRunning }
}

// TestWhatMembersKnowDecidesIfARecordIsLostOrOld has each source of the number of voters: the record, what members know, and both.
func TestWhatMembersKnowDecidesIfARecordIsLostOrOld(t *testing.T) {
	all := []int{0, 1, 2}
	noRecord := func(s *state.State) { s.KnownVoters, s.KnownIDs = nil, nil }
	recorded := func(of ...int) change {
		return func(s *state.State) {
			s.KnownVoters = nil
			for _, i := range of {
				s.KnownVoters = append(s.KnownVoters, nameOf(i))
			}
		}
	}
	lost := []change{formed, members(3), noQuorum, with(1, gone), with(2, gone)}
	for name, test := range map[string]struct {
		changes []change
		lost    bool   // a quorum is lost for good
		unseen  int    // foreign members that may serve clients
		voters  int    // that a restore must count with, at least
		says    string // in the status
	}{
		"the record and the member agree":                      {append(lost, with(0, knowing(9, all))), true, 0, 3, "1 of 3"},
		"the record is lost":                                   {append(lost, noRecord, with(0, knowing(9, all))), true, 0, 3, "because the status had no record of the voters"},
		"the record is lost, and the member was restarted":     {append(lost, noRecord, with(0, muteAt(9))), false, 0, 0, ""},
		"an old record has fewer voters":                       {append(lost, recorded(0), with(0, knowing(9, all))), true, 0, 3, "because the status recorded other voters"},
		"an old record has more voters":                        {append(lost, recorded(0, 1, 2, 7, 8), with(0, knowing(9, []int{0}))), false, 0, 1, ""},
		"an old record has other voters":                       {append(lost, recorded(0, 7), with(0, knowing(9, all))), true, 0, 3, "1 of 3"},
		"a voter was added by hand to a cluster of one":        {[]change{formed, members(1), size(1), noQuorum, with(0, knowing(9, []int{0}, 100))}, false, 1, 2, "0000000000000064 (http://guest-100:2380)"},
		"a learner was added by hand to a cluster of one":      {[]change{formed, members(1), size(1), noQuorum, with(0, knowing(9, []int{0}, -100))}, false, 1, 2, ""},
		"that voter is said to have stopped":                   {[]change{formed, members(1), size(1), noQuorum, with(0, knowing(9, []int{0}, 100)), func(s *state.State) { s.Asked.StoppedForeign = []string{"64"} }}, true, 0, 2, "1 of 2"},
		"a member was promoted by hand":                        {append(lost, recorded(0), with(0, knowing(9, []int{0, 1}))), true, 0, 2, "1 of 2"},
		"a learner has no vote":                                {append(lost, noRecord, with(0, knowing(9, []int{0, -2}))), false, 0, 1, ""},
		"a removal was recorded and not done":                  {append(lost, recorded(0, 1), func(s *state.State) { s.Removing = nameOf(1) }, with(0, knowing(9, []int{0, 1}))), true, 0, 2, "1 of 2"},
		"a removal was recorded, and the member was restarted": {append(lost, recorded(0, 1), func(s *state.State) { s.Removing = nameOf(1) }, with(0, muteAt(9))), false, 0, 1, ""},
		"a foreign member of the record may have come later":   {append(lost, with(0, knowing(9, all)), guest()), true, 1, 4, "1 of 4"},
		"a member with data may know more than the one that answers": {
			[]change{formed, members(3), noQuorum, recorded(0, 1, 2), with(2, gone), with(0, knowing(9, []int{0})), with(1, silent)}, false, 0, 1, "",
		},
		"a restarted member has applied more than the one that answers": {
			[]change{formed, members(3), noQuorum, recorded(0), with(2, gone), with(0, knowing(9, []int{0, 1, 2})), with(1, muteAt(10))}, false, 0, 1, "",
		},
		"a restarted member has applied as much": {
			[]change{formed, members(5), noQuorum, recorded(0), with(2, gone), with(3, gone), with(4, gone), with(0, knowing(9, []int{0, 1, 2, 3, 4})), with(1, muteAt(9))}, true, 0, 5, "2 of 5",
		},
		"two members answer, and one was cut off": {
			[]change{formed, members(5), noQuorum, noRecord, with(2, gone), with(3, gone), with(4, gone), with(0, knowing(5, []int{0})), with(1, knowing(9, []int{0, 1, 2, 3, 4}))}, true, 0, 5, "2 of 5",
		},
		"the member that answers was removed": {append(lost, with(0, knowing(9, []int{1, 2}))), true, 0, 3, "1 of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(append(slices.Clone(test.changes), with(0, unreadyFor(2*state.StartGrace)), heard)...)
			if lost := state.TooFew(s, state.Holders(s)); lost != test.lost {
				t.Errorf("quorum is lost: %v. voters %q, foreign %v, dispute %v", lost, s.KnownVoters, s.ForeignMembers, s.Dispute)
			}
			if unseen := len(state.UnseenVoters(s)); unseen != test.unseen {
				t.Errorf("%d foreign members may serve: %v", unseen, s.ForeignMembers)
			}
			if voters := state.VotersBeside(s, s.ForeignMembers); voters != test.voters {
				t.Errorf("a restore counts %d voters", voters)
			}
			if wait, is := Plan(s).(steps.Wait); !is || !strings.Contains(wait.Message, test.says) {
				t.Errorf("the status does not say %q: %+v", test.says, Plan(s))
			}
		})
	}
}

// A standing consent to continue from one member is no consent to lose what another one has, which an old record does not name.
func TestARecoveryAsksMembersThatAnOldRecordDoesNotName(t *testing.T) {
	old := []change{formed, members(5), noQuorum, consenting, func(s *state.State) { s.KnownVoters = []string{nameOf(0), nameOf(1), "x"} }, with(1, gone), with(0, muteAt(5), unreadyFor(2*state.StartGrace))}
	for name, test := range map[string]struct {
		changes []change
		member  string
	}{
		"the others are starting":            {append(old, with(2, pod(state.PodStarting)), with(3, pod(state.PodStarting)), with(4, pod(state.PodStarting))), ""},
		"another one has newer data":         {append(old, with(2, muteAt(9), unreadyFor(2*state.StartGrace)), with(3, gone), with(4, gone)), nameOf(2)},
		"another one has older data":         {append(old, with(2, muteAt(3), unreadyFor(2*state.StartGrace)), with(3, gone), with(4, gone)), nameOf(0)},
		"a recorded learner is not asked":    {append(old, with(2, pod(state.PodStarting)), with(3, gone), with(4, gone), func(s *state.State) { s.KnownLearners = []string{nameOf(2)} }), nameOf(0)},
		"no other member has data":           {append(old, with(2, gone), with(3, gone), with(4, gone)), nameOf(0)},
		"a member that answers knows better": {append(old, with(0, knowing(9, []int{0, 1, 2})), with(2, withoutPod, gone), with(3, gone), with(4, gone)), nameOf(0)},
	} {
		begin, _ := Plan(stateWith(append(slices.Clone(test.changes), heard)...)).(steps.BeginRecovery)
		if begin.Member != test.member {
			t.Errorf("%s: the recovery begins with %q, expected %q: %+v", name, begin.Member, test.member, Plan(stateWith(append(slices.Clone(test.changes), heard)...)))
		}
	}
}

// Whoever follows the advice of the status must not delete the only copy of the data.
func TestNoAdviceEverDeletesTheOnlyCopyOfTheData(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	pick := func(options ...func(*state.Member)) func(*state.Member) { return options[r.IntN(len(options))] }
	for range 20000 {
		n := 1 + r.IntN(5)
		changes := []change{formed, members(n), size(n), noQuorum}
		only := r.IntN(n)
		for i := range n {
			if i != only {
				changes = append(changes, with(i, gone))
			}
		}
		changes = append(changes, with(only, pick(muteAt(9), silent, pod(state.PodStarting), withoutPod, func(m *state.Member) {
			m.Pod, m.PodReason, m.PodMessage, m.Answers = state.PodBlocked, v1beta2.ReasonPodFailing, "why", false
		}, knowing(9, []int{0, 1, 2, 3, 4}[:n]), knowing(9, []int{only}, 100))), with(only, unreadyFor(2*state.StartGrace)))
		if r.IntN(2) == 0 {
			changes = append(changes, func(s *state.State) { s.KnownVoters = s.KnownVoters[:r.IntN(len(s.KnownVoters)+1)] })
		}
		if r.IntN(2) == 0 {
			changes = append(changes, consenting)
		}
		s := stateWith(append(changes, heard)...)
		if wait, is := Plan(s).(steps.Wait); is && strings.Contains(wait.Message, "PersistentVolumeClaim") && strings.Contains(wait.Message, "delete ") {
			t.Fatalf("only %s has data, and the status says: %s", nameOf(only), wait.Message)
		}
	}
}

// The members' knowledge is kept for the time after their restart, when they answer nothing.
func TestTheStatusKeepsWhatAMemberKnew(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, with(1, gone), with(2, gone), with(0, knowing(9, []int{0, 1, 2}, 100)), func(s *state.State) { s.KnownVoters = nil }, heard)
	status := NewStatus(s, Plan(s), nil, v1beta2.EtcdClusterStatus{ClusterID: s.ClusterID, Incarnation: 1}, 1)
	after := state.NewState(&v1beta2.EtcdCluster{Status: status})
	if !slices.Equal(after.KnownVoters, []string{nameOf(0), nameOf(1), nameOf(2)}) || len(after.ForeignMembers) != 1 {
		t.Errorf("the status has %q and %v", after.KnownVoters, after.ForeignMembers)
	}
}

// A learner that the status no longer has as one would be asked before a recovery, which waits for it.
func TestTheStatusKeepsThatAMemberIsALearner(t *testing.T) {
	s := stateWith(formed, members(4), noQuorum, with(1, gone), with(2, gone), with(3, pod(state.PodStarting)), with(0, knowing(9, []int{0, 1, 2, -4}), unreadyFor(2*state.StartGrace)))
	before := v1beta2.EtcdClusterStatus{ClusterID: s.ClusterID, Incarnation: 1}
	for i, role := range []v1beta2.MemberRole{v1beta2.MemberVoter, v1beta2.MemberVoter, v1beta2.MemberVoter, v1beta2.MemberLearner} {
		before.MemberStatuses = append(before.MemberStatuses, v1beta2.MemberStatus{Name: nameOf(i), Role: role})
	}
	record := state.NewState(&v1beta2.EtcdCluster{Status: before})
	s.KnownVoters, s.KnownLearners = record.KnownVoters, record.KnownLearners
	recovery.HearWitness(&s)
	if s.Witness == "" {
		t.Fatal("no member is the witness")
	}
	after := state.NewState(&v1beta2.EtcdCluster{Status: NewStatus(s, Plan(s), nil, before, 1)})
	if !slices.Equal(after.KnownLearners, []string{nameOf(3)}) || len(after.KnownVoters) != 3 {
		t.Errorf("the status has the voters %q and the learners %q", after.KnownVoters, after.KnownLearners)
	}
}

// An API backup brought back an old record. A slow member knew only that record, a person had consented to lose what is lost, and the
// cluster continued from the slow member while another one, which neither of the two named, was still starting with newer data.
func TestAMemberThatRecordAndWitnessDoNotNameIsAskedBeforeARecovery(t *testing.T) {
	s := stateWith(formed, members(5), noQuorum, consenting, func(s *state.State) { s.KnownVoters = []string{nameOf(0), nameOf(1), nameOf(3)} },
		with(1, gone), with(3, gone), with(4, gone), with(2, pod(state.PodStarting)), with(0, knowing(5, []int{0, 1, 3}), unreadyFor(2*state.StartGrace)))
	s.Members[0].ClusterID, s.Members[0].RaftTerm = 0xaa, 3
	recovery.HearWitness(&s)
	if step, is := Plan(s).(steps.BeginRecovery); is {
		t.Errorf("member 2 has data and was not asked: %+v", step)
	}
}
