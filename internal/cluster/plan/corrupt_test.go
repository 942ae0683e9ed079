package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// accused: a CORRUPT alarm is on for each of these member IDs. ID 0 means that the alarm names no member.
func accused(ids ...etcd.ID) change {
	return func(s *state.State) {
		for i := range s.Members {
			for _, id := range ids {
				s.Members[i].Alarms = append(s.Members[i].Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: id})
			}
			s.Members[i].PodReady = false // /readyz fails while that alarm is on
		}
	}
}

// remembered: the status has the member IDs that the alarms named while they were members.
func remembered(ids ...etcd.ID) change { return func(s *state.State) { s.Accused = ids } }

// hashing gives each member in turn a hash. An empty string means that the hash is unknown.
func hashing(hashes ...string) change {
	return func(s *state.State) {
		for i, hash := range hashes {
			s.Members[i].Hash = hash
		}
	}
}

func TestPlanCorruptAlarm(t *testing.T) {
	const refuses = "A CORRUPT alarm is on, and etcd refuses requests. "
	const ways = " The operator changes nothing. Restore a snapshot with an EtcdRestore. " +
		"If you know which member is wrong, you can delete its PersistentVolumeClaim and its Pod instead. Then disarm the alarm: etcdctl alarm disarm."
	doubt := func(text string) steps.Wait {
		return steps.Wait{Reason: v1beta2.ReasonDataCorrupt, Message: refuses + text, Stalled: true, Requeue: repair.RequeueUnclear}
	}
	planTests{
		"removes the member that the alarm names if a quorum has other data": {
			stateWith(formed, members(3), accused(2), hashing("a", "b", "a")), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.CorruptData},
		},
		"moves leadership before it removes a corrupt leader": {
			stateWith(formed, members(3), accused(1), hashing("b", "a", "a")), steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"disarms the alarm once the member that it names is removed": {
			stateWith(formed, members(3), accused(77), remembered(77), hashing("a", "a", "a")),
			steps.DisarmAlarm{Alarm: etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: 77}, Reason: v1beta2.ReasonDataCorrupt},
		},
		"disarms the alarm before it adds a member, because etcd refuses requests until then": {
			stateWith(formed, members(2), accused(77), remembered(77), hashing("a", "a")),
			steps.DisarmAlarm{Alarm: etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: 77}, Reason: v1beta2.ReasonDataCorrupt},
		},
		"does not disarm the alarm of a removed member while the remaining members differ": {
			stateWith(formed, members(2), size(2), accused(77), hashing("a", "b")),
			doubt("No quorum of voters is known to have the same data (" + nameOf(0) + ": a; " + nameOf(1) + ": b)." + ways),
		},
		"disarms no alarm for an ID that was never a member's": {
			stateWith(formed, members(3), accused(77), hashing("a", "a", "a")),
			doubt("It names 000000000000004d, which is no member that the operator knows of, and the voters that answer have the same data. So somebody refuses writes with it, " +
				"and the operator changes nothing. If it is not needed any more, disarm the alarm: etcdctl alarm disarm."),
		},
		"takes a fence for no corruption": {
			stateWith(formed, members(3), hashing("a", "a", "a"), restored(v1beta2.RestoreSwitching), fencedBy("uid-back"), asked, aSeed(serving)), steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"takes back a fence that nothing needs, beside a real corruption": {
			stateWith(formed, members(3), accused(2, etcd.FenceID("uid")), hashing("a", "b", "a")), steps.UnfenceWrites{ID: etcd.FenceID("uid")},
		},
		"removes the member that differs from a quorum if the alarm names no member": {
			stateWith(formed, members(3), accused(0), hashing("a", "b", "a")), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.CorruptData},
		},
		"changes no member if a second alarm names a member that agrees with the quorum": {
			stateWith(formed, members(3), accused(0, 3), hashing("a", "b", "a")),
			doubt("Member " + nameOf(1) + " has other data than a quorum, but the alarm names another member." + ways),
		},
		"disarms an alarm that names no member once all members have the same data": {
			stateWith(formed, members(2), accused(0), hashing("a", "a")),
			steps.DisarmAlarm{Alarm: etcd.Alarm{Kind: etcd.AlarmCorrupt}, Reason: v1beta2.ReasonDataCorrupt},
		},
		"does not disarm an alarm that names no member while one hash is unknown": {
			stateWith(formed, members(3), accused(0), hashing("a", "a", "")),
			doubt("The voters that answer have the same data. The operator changes nothing. If you trust that data, disarm the alarm: etcdctl alarm disarm. Otherwise restore a snapshot with an EtcdRestore."),
		},
		"removes a member whose etcd exits because its data differs from a quorum's": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodFailing), damaged), accused(2), hashing("a", "", "a")),
			steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.CorruptData},
		},
		"keeps a member whose etcd exits while no quorum is known to have the same data": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodFailing), damaged), accused(2), hashing("a", "", "b")),
			doubt("No quorum of voters is known to have the same data (" + nameOf(0) + ": a; " + nameOf(1) + ": no hash; " + nameOf(2) + ": b)." + ways),
		},
		"changes no member if the leader accuses members that agree": {
			stateWith(formed, members(3), accused(2, 3), hashing("b", "a", "a")),
			doubt("Member " + nameOf(0) + " has other data than a quorum, but the alarm names another member." + ways),
		},
		"changes no member if the data of all three members differs": {
			stateWith(formed, members(3), accused(2), hashing("a", "b", "c")),
			doubt("No quorum of voters is known to have the same data (" + nameOf(0) + ": a; " + nameOf(1) + ": b; " + nameOf(2) + ": c)." + ways),
		},
		"changes no member if the data of two members differs": {
			stateWith(formed, members(2), size(2), accused(2), hashing("a", "b")),
			doubt("No quorum of voters is known to have the same data (" + nameOf(0) + ": a; " + nameOf(1) + ": b)." + ways),
		},
		"changes no member if the hash of the accused member is unknown": {
			stateWith(formed, members(3), accused(2), hashing("a", "", "a")),
			doubt("The voters that answer have the same data. The operator changes nothing. If you trust that data, disarm the alarm: etcdctl alarm disarm. Otherwise restore a snapshot with an EtcdRestore."),
		},
		"changes no member if all members have the same data": {
			stateWith(formed, members(3), accused(2), hashing("a", "a", "a")),
			doubt("The voters that answer have the same data. The operator changes nothing. If you trust that data, disarm the alarm: etcdctl alarm disarm. Otherwise restore a snapshot with an EtcdRestore."),
		},
		"removes a learner that cannot start before it removes the corrupt member": {
			stateWith(formed, members(3), with(3, justAdded, blockedBy(v1beta2.ReasonPodUnschedulable), joining(4)), size(4), accused(2), hashing("a", "b", "a")),
			steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: state.MakesWay},
		},
	}.run(t)
}

func TestACorruptMemberIsKeptWhereQuorumNeedsIt(t *testing.T) {
	s := stateWith(formed, members(5), size(5), with(3, silent), with(4, silent), accused(2), hashing("a", "b", "a", "a"))
	wait, ok := Plan(s).(steps.Wait)
	if !ok || wait.Reason != v1beta2.ReasonDataCorrupt || !strings.Contains(wait.Message, "would leave no quorum") {
		t.Errorf("%+v", Plan(s))
	}
}

func TestAClusterWithACorruptAlarmIsNotAvailable(t *testing.T) {
	s := stateWith(formed, members(3), accused(2), hashing("a", "a", "a"))
	status := NewStatus(s, Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
	available := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionAvailable)
	if available.Status != metav1.ConditionFalse || available.Reason != v1beta2.ReasonDataCorrupt {
		t.Errorf("%+v", available)
	}
}

// Without the record, an alarm for a member that was removed would look like one of somebody else, and refuse all writes until a person disarms it.
// With a record of each ID, a fence of somebody else would be taken back in the middle of a move of data.
func TestTheStatusRemembersWhichMembersWereAccused(t *testing.T) {
	gone := func(s *state.State) { s.KnownIDs = map[string]etcd.ID{"example-gone": 9} }
	for name, test := range map[string]struct {
		s    state.State
		want []string
	}{
		"a member":                              {stateWith(formed, members(3), accused(2)), []string{"0000000000000002"}},
		"one that was removed since":            {stateWith(formed, members(3), accused(9), gone), []string{"0000000000000009"}},
		"one that was removed long ago":         {stateWith(formed, members(3), accused(77), remembered(77)), []string{"000000000000004d"}},
		"one whose alarm is off":                {stateWith(formed, members(3), remembered(77)), nil},
		"one while no member answers":           {stateWith(formed, members(3), remembered(77), noAnswers), []string{"000000000000004d"}},
		"an ID that was never a member's, none": {stateWith(formed, members(3), accused(77, etcd.FenceID("uid"))), nil},
	} {
		status := NewStatus(test.s, Plan(test.s), nil, v1beta2.EtcdClusterStatus{}, 1)
		if diff := cmp.Diff(test.want, status.AccusedMembers); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var want []etcd.ID
		for _, text := range test.want {
			id, _ := etcd.ParseID(text)
			want = append(want, id)
		}
		if got := state.AccusedIn(status); !slices.Equal(got, want) {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}

func noAnswers(s *state.State) {
	for i := range s.Members {
		s.Members[i].Answers, s.Members[i].Serving = false, false
	}
	s.MembershipKnown = false
}
