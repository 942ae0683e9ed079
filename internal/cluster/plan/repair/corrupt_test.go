package repair_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// remembered: the status has the member IDs that the alarms named while they were members.
func remembered(ids ...etcd.ID) plantest.Change { return func(s *state.State) { s.Accused = ids } }

func TestPlanCorruptAlarm(t *testing.T) {
	const refuses = "A CORRUPT alarm is on, and etcd refuses requests. "
	const ways = " The operator changes nothing. Restore a snapshot with an EtcdRestore. " +
		"If you know which member is wrong, you can delete its PersistentVolumeClaim and its Pod instead. Then disarm the alarm: etcdctl alarm disarm."
	doubt := func(text string) steps.Wait {
		return steps.Wait{Reason: v1beta2.ReasonDataCorrupt, Message: refuses + text, Stalled: true, Requeue: repair.RequeueUnclear}
	}
	plantest.Plans{
		"removes the member that the alarm names if a quorum has other data": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(2), plantest.Hashing("a", "b", "a")), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.CorruptData},
		},
		"moves leadership before it removes a corrupt leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(1), plantest.Hashing("b", "a", "a")), steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"disarms the alarm once the member that it names is removed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(77), remembered(77), plantest.Hashing("a", "a", "a")),
			steps.DisarmAlarm{Alarm: etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: 77}, Reason: v1beta2.ReasonDataCorrupt},
		},
		"disarms the alarm before it adds a member, because etcd refuses requests until then": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Accused(77), remembered(77), plantest.Hashing("a", "a")),
			steps.DisarmAlarm{Alarm: etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: 77}, Reason: v1beta2.ReasonDataCorrupt},
		},
		"does not disarm the alarm of a removed member while the remaining members differ": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Size(2), plantest.Accused(77), plantest.Hashing("a", "b")),
			doubt("No quorum of voters is known to have the same data (" + plantest.NameOf(0) + ": a; " + plantest.NameOf(1) + ": b)." + ways),
		},
		"disarms no alarm for an ID that was never a member's": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(77), plantest.Hashing("a", "a", "a")),
			doubt("It names 000000000000004d, which is no member that the operator knows of, and the voters that answer have the same data. So somebody refuses writes with it, " +
				"and the operator changes nothing. If it is not needed any more, disarm the alarm: etcdctl alarm disarm."),
		},
		"takes a fence for no corruption": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Hashing("a", "a", "a"), plantest.Restored(v1beta2.RestoreSwitching), plantest.FencedBy("uid-back"), plantest.Asked, plantest.ASeed(plantest.Serving)), steps.AdoptSeed{ClusterID: plantest.SeedID, Incarnation: 2},
		},
		"takes back a fence that nothing needs, beside a real corruption": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(2, etcd.FenceID("uid")), plantest.Hashing("a", "b", "a")), steps.UnfenceWrites{ID: etcd.FenceID("uid")},
		},
		"removes the member that differs from a quorum if the alarm names no member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(0), plantest.Hashing("a", "b", "a")), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.CorruptData},
		},
		"changes no member if a second alarm names a member that agrees with the quorum": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(0, 3), plantest.Hashing("a", "b", "a")),
			doubt("Member " + plantest.NameOf(1) + " has other data than a quorum, but the alarm names another member." + ways),
		},
		"disarms an alarm that names no member once all members have the same data": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Accused(0), plantest.Hashing("a", "a")),
			steps.DisarmAlarm{Alarm: etcd.Alarm{Kind: etcd.AlarmCorrupt}, Reason: v1beta2.ReasonDataCorrupt},
		},
		"does not disarm an alarm that names no member while one hash is unknown": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(0), plantest.Hashing("a", "a", "")),
			doubt("The voters that answer have the same data. The operator changes nothing. If you trust that data, disarm the alarm: etcdctl alarm disarm. Otherwise restore a snapshot with an EtcdRestore."),
		},
		"removes a member whose etcd exits because its data differs from a quorum's": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.Damaged), plantest.Accused(2), plantest.Hashing("a", "", "a")),
			steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.CorruptData},
		},
		"keeps a member whose etcd exits while no quorum is known to have the same data": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.Damaged), plantest.Accused(2), plantest.Hashing("a", "", "b")),
			doubt("No quorum of voters is known to have the same data (" + plantest.NameOf(0) + ": a; " + plantest.NameOf(1) + ": no hash; " + plantest.NameOf(2) + ": b)." + ways),
		},
		"changes no member if the leader accuses members that agree": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(2, 3), plantest.Hashing("b", "a", "a")),
			doubt("Member " + plantest.NameOf(0) + " has other data than a quorum, but the alarm names another member." + ways),
		},
		"changes no member if the data of all three members differs": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(2), plantest.Hashing("a", "b", "c")),
			doubt("No quorum of voters is known to have the same data (" + plantest.NameOf(0) + ": a; " + plantest.NameOf(1) + ": b; " + plantest.NameOf(2) + ": c)." + ways),
		},
		"changes no member if the data of two members differs": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Size(2), plantest.Accused(2), plantest.Hashing("a", "b")),
			doubt("No quorum of voters is known to have the same data (" + plantest.NameOf(0) + ": a; " + plantest.NameOf(1) + ": b)." + ways),
		},
		"changes no member if the hash of the accused member is unknown": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(2), plantest.Hashing("a", "", "a")),
			doubt("The voters that answer have the same data. The operator changes nothing. If you trust that data, disarm the alarm: etcdctl alarm disarm. Otherwise restore a snapshot with an EtcdRestore."),
		},
		"changes no member if all members have the same data": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(2), plantest.Hashing("a", "a", "a")),
			doubt("The voters that answer have the same data. The operator changes nothing. If you trust that data, disarm the alarm: etcdctl alarm disarm. Otherwise restore a snapshot with an EtcdRestore."),
		},
		"removes a learner that cannot start before it removes the corrupt member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.JustAdded, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.Joining(4)), plantest.Size(4), plantest.Accused(2), plantest.Hashing("a", "b", "a")),
			steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: state.MakesWay},
		},
	}.Run(t, plan.Plan)
}

func TestACorruptMemberIsKeptWhereQuorumNeedsIt(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.With(3, plantest.Silent), plantest.With(4, plantest.Silent), plantest.Accused(2), plantest.Hashing("a", "b", "a", "a"))
	wait, ok := plan.Plan(s).(steps.Wait)
	if !ok || wait.Reason != v1beta2.ReasonDataCorrupt || !strings.Contains(wait.Message, "would leave no quorum") {
		t.Errorf("%+v", plan.Plan(s))
	}
}

func TestAClusterWithACorruptAlarmIsNotAvailable(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(2), plantest.Hashing("a", "a", "a"))
	status := plan.NewStatus(s, plan.Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
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
		"a member":                              {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(2)), []string{"0000000000000002"}},
		"one that was removed since":            {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(9), gone), []string{"0000000000000009"}},
		"one that was removed long ago":         {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(77), remembered(77)), []string{"000000000000004d"}},
		"one whose alarm is off":                {plantest.StateWith(plantest.Formed, plantest.Members(3), remembered(77)), nil},
		"one while no member answers":           {plantest.StateWith(plantest.Formed, plantest.Members(3), remembered(77), noAnswers), []string{"000000000000004d"}},
		"an ID that was never a member's, none": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Accused(77, etcd.FenceID("uid"))), nil},
	} {
		status := plan.NewStatus(test.s, plan.Plan(test.s), nil, v1beta2.EtcdClusterStatus{}, 1)
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
