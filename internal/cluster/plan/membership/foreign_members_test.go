package membership_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// promoting: the status records that the operator promotes the i-th member.
func promoting(i int) plantest.Change {
	return func(s *state.State) { s.Promoting = plantest.NameOf(i) }
}

// removing: the status records that the operator removes the i-th member.
func removing(i int) plantest.Change { return func(s *state.State) { s.Removing = plantest.NameOf(i) } }

func graceForForeign(d time.Duration) plantest.Change {
	return func(s *state.State) {
		s.Spec.Recovery = &v1beta2.RecoveryPolicy{ForeignMemberGrace: &metav1.Duration{Duration: d}}
	}
}

func removesGuest() steps.Step {
	return steps.RemoveMember{ID: plantest.GuestID, Name: plantest.GuestLabel, Cause: "the operator did not add it, and the spec or an annotation consents to its removal", Foreign: true}
}

const learnerStays = "Member " + plantest.GuestLabel + " is in the cluster, and the operator did not add it. The operator has seen it since 2026-03-04T11:00:00Z. " +
	"It has no vote. Until it is removed, the operator adds and removes no other member, and does not change the minor version of etcd. " +
	"If a migration is under way, end it first. To have the operator remove the member, annotate the EtcdCluster with etcd.database.coreos.com/remove-foreign-members=0000000000000f00."

const voterStays = "Member " + plantest.GuestLabel + " is in the cluster, and the operator did not add it. The operator has seen it since 2026-03-04T11:00:00Z. " +
	"It votes: quorum is 3 of 4 voters, and the operator runs 3 of them. Until it is removed, the operator restarts a member only if quorum holds, and does not change the minor version of etcd. " +
	"If a migration is under way, end it first. To have the operator remove the member, annotate the EtcdCluster with etcd.database.coreos.com/remove-foreign-members=0000000000000f00."

// TestPlanForeignMembers: the operator does not run a member that a person added, and removes it only with consent.
func TestPlanForeignMembers(t *testing.T) {
	stays := func(message string) steps.Step {
		return steps.Wait{Reason: v1beta2.ReasonForeignMember, Message: message, Stalled: true, Requeue: state.RequeueForeign}
	}
	plantest.Plans{
		"keeps a foreign learner, and reports it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(plantest.WithoutVote)), stays(learnerStays),
		},
		"keeps a foreign voter, and reports it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest()), stays(voterStays),
		},
		"removes a foreign learner by consent": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(plantest.WithoutVote), plantest.MayGo), removesGuest(),
		},
		"removes a foreign voter by consent": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(), plantest.MayGo), removesGuest(),
		},
		"removes a foreign member that the annotation names by its name": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(), func(s *state.State) { s.Asked.RemoveForeign = []string{"guest"} }), removesGuest(),
		},
		"removes a foreign member after the grace period of the spec": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(), graceForForeign(time.Hour)), removesGuest(),
		},
		"keeps a foreign member until the grace period ends": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(), graceForForeign(2*time.Hour)),
			stays(voterStays + " The operator removes it at 2026-03-04T13:00:00Z, because spec.recovery.foreignMemberGrace allows it."),
		},
		"removes no foreign voter if that could leave no quorum": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.WithoutPod), plantest.Guest(), plantest.Guest(func(m *state.ForeignMember) { m.ID = 0xf01 }), plantest.MayGo),
			steps.CreateMember{Name: plantest.NameOf(2), Incarnation: 1, Start: state.StartRejoin},
		},
		"removes a foreign voter that has never started although quorum needs the other one, because etcd adds no member until then": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(3), plantest.Guest(), plantest.Guest(func(m *state.ForeignMember) { m.ID, m.Name, m.Started = 0xf01, "", false }), func(s *state.State) { s.Asked.RemoveForeign = []string{"f00", "f01"} }),
			steps.RemoveMember{ID: 0xf01, Name: "0000000000000f01 (http://10.0.0.5:2380)", Cause: removesGuest().(steps.RemoveMember).Cause, Foreign: true},
		},
		"recreates the Pod of its own member beside a foreign learner": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod), plantest.Guest(plantest.WithoutVote)), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"reports a foreign learner without a name by its ID and peer URL": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(plantest.WithoutVote, func(m *state.ForeignMember) { m.Name = "" })),
			stays(strings.ReplaceAll(learnerStays, "guest, ", "")),
		},
		"replaces no member whose data is lost beside a foreign learner": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Gone), plantest.Guest(plantest.WithoutVote)), stays(learnerStays),
		},
		"replaces a member whose data is lost beside a foreign voter": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.With(1, plantest.Gone), plantest.Guest()), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.LostData},
		},
		"scales up beside a foreign voter": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(5), plantest.Guest()), plantest.Create(3),
		},
		"adds no member beside a foreign learner": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(5), plantest.Guest(plantest.WithoutVote)), stays(learnerStays),
		},
		"removes no member of its own to make up for a foreign voter": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest()), stays(voterStays),
		},
		"restarts no member if the foreign voter may be down": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.Guest()), stays(voterStays),
		},
		"restarts a member if quorum holds without it and the foreign voter": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.AllOutdated, plantest.Guest()),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonRolling, Message: "spec.pod or spec.TLS has changed"},
		},
		"changes no minor version beside a foreign member": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.OfVersion("3.7.3"), plantest.Guest()),
			steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Stalled: true, Message: "Member " + plantest.GuestLabel + " is in the cluster, and the operator did not add it and cannot see its version. " +
				"A change to 3.7 waits until it is removed. The members keep their version until then."},
		},
		"lets drains leave a quorum even if the foreign voter is down": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(), func(s *state.State) { s.Budget = plantest.BudgetOf(2) }), steps.ApplyBudget{Incarnation: 1, MinAvailable: 3},
		},
		"does not report quorum as lost if a foreign voter may complete it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, plantest.With(0, plantest.Gone), plantest.With(1, plantest.WithoutPod), plantest.Guest()),
			steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
	}.Run(t, plan.Plan)
}

func TestAForeignMemberKeepsTheTimeAtWhichItWasFirstSeen(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(plantest.WithoutVote))
	entries := []etcd.Member{{ID: plantest.GuestID, Name: "guest", PeerURLs: []string{"http://10.0.0.5:2380"}}}
	for i := range 3 {
		entries = append(entries, etcd.Member{ID: etcd.ID(i + 1), Name: plantest.NameOf(i), ClientURLs: []string{"x"}})
	}
	state.Enroll(&s, entries)
	status := plan.NewStatus(s, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	if len(status.ForeignMembers) != 1 || status.ForeignMembers[0].Role != v1beta2.MemberVoter || !status.ForeignMembers[0].Since.Time.Equal(plantest.Noon.Add(-time.Hour)) {
		t.Fatalf("the status has %+v", status.ForeignMembers)
	}
	next := state.NewState(&v1beta2.EtcdCluster{Status: status})
	if len(next.ForeignMembers) != 1 || state.KnownVoters(next) != 4 {
		t.Errorf("the next pass has %+v and %d voters, want 4", next.ForeignMembers, state.KnownVoters(next))
	}
	if len(status.MemberStatuses) != 3 {
		t.Errorf("memberStatuses are %+v, want the operator's own three", status.MemberStatuses)
	}
}

func TestAMemberJoinsBesideAForeignOne(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest())
	peers := state.JoinPeers(s, plantest.NameOf(3))
	if len(peers) != 5 || !slices.Contains(peers, "foreign-0000000000000f00") || !slices.Equal(state.PeerURLs(s, "foreign-0000000000000f00"), []string{"http://10.0.0.5:2380"}) {
		t.Errorf("peers are %v", peers)
	}
}

func TestConsentThatWasWithdrawnIsSeenBeforeAMemberIsRemoved(t *testing.T) {
	planned := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1beta2.AnnotationRemoveForeign: "guest"}}}
	if got := plan.Outdated(planned, &v1beta2.EtcdCluster{}); got != "metadata.annotations" {
		t.Errorf("outdated by %q", got)
	}
}

// TestAVoteIsRecordedBeforeItIsGiven: the operator may be killed right after a promotion, and quorum may then be lost. The
// status must still have as many known voters as etcd.
func TestAVoteIsRecordedBeforeItIsGiven(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.With(3, plantest.Learner))
	first := plan.Plan(s)
	if first != (steps.RecordPromotion{Name: plantest.NameOf(3)}) {
		t.Fatalf("the first step is %+v", first)
	}
	status := plan.NewStatus(s, first, nil, v1beta2.EtcdClusterStatus{}, 1)
	known := state.NewState(&v1beta2.EtcdCluster{Status: status})
	if len(known.KnownVoters) != 4 {
		t.Errorf("known voters are %v before the vote is given, want 4", known.KnownVoters)
	}
	s.Promoting = known.Promoting
	if step := plan.Plan(s); step != (steps.PromoteLearner{ID: 4, Name: plantest.NameOf(3)}) {
		t.Errorf("the second step is %+v", step)
	}
	if kept := plan.NewStatus(s, plan.Plan(s), nil, status, 1); kept.PromotingMember != plantest.NameOf(3) {
		t.Error("the record is dropped in the pass that gives the vote")
	}
	s.Members[3].Learner = false
	if after := plan.NewStatus(s, steps.Done{}, nil, status, 1); after.PromotingMember != "" {
		t.Errorf("%s is still recorded after it votes", after.PromotingMember)
	}
}

func TestAMemberThatIsAboutToVoteMakesNoLostQuorum(t *testing.T) {
	last := func(s *state.State) { s.KnownVoters = append(s.KnownVoters, plantest.NameOf(3)) }
	for name, test := range map[string]struct {
		state   state.State
		holders int
		lost    bool
	}{
		"two of three hold data, and the fourth is lost": {plantest.StateWith(plantest.Formed, plantest.Members(3), promoting(3), last), 2, false},
		"one of three holds data":                        {plantest.StateWith(plantest.Formed, plantest.Members(3), promoting(3), last), 1, true},
		"two of four voters hold data":                   {plantest.StateWith(plantest.Formed, plantest.Members(3), last), 2, true},
		"no voters are known":                            {plantest.StateWith(plantest.Formed), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := state.TooFew(test.state, test.state.Members[:test.holders]); got != test.lost {
				t.Errorf("quorum is lost: %v, want %v", got, test.lost)
			}
		})
	}
}

func TestAVoterOfAnOldEtcdIsRecordedBeforeItIsAdded(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.EveryImage("3.3.27"), plantest.OfVersion("3.3.27"), func(s *state.State) { s.KnownVersion = "3.3.27" })
	first := plan.Plan(s)
	if first != (steps.RecordPromotion{Name: plantest.NameOf(3)}) {
		t.Fatalf("the first step is %+v", first)
	}
	s.Promoting = plantest.NameOf(3)
	second := plan.Plan(s)
	if added, is := second.(steps.AddLearner); !is || !added.Voter || plan.NewStatus(s, second, nil, v1beta2.EtcdClusterStatus{}, 1).PromotingMember != plantest.NameOf(3) {
		t.Errorf("the second step is %+v", second)
	}
}
