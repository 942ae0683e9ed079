package membership_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Foreign voters that the operator cannot reach may serve clients. A second cluster beside them would take writes that
// are lost when a person ends one of the two.
func TestAGracePeriodForForeignMembersIsNoConsentToASecondCluster(t *testing.T) {
	// 3 own voters have all their data, and 4 foreign voters run outside of Kubernetes. The network between them fails: the
	// foreign voters are a quorum of 7 and continue to serve.
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, graceForForeign(time.Hour), func(s *state.State) {
		s.Spec.Recovery.QuorumLoss = v1beta2.QuorumLossForceNewCluster
		for i := range 4 {
			plantest.Guest(func(m *state.ForeignMember) { m.ID += etcd.ID(i) })(s)
		}
	}, plantest.With(0, plantest.Knows(42, 3)), plantest.With(1, plantest.Knows(41, 3)), plantest.With(2, plantest.Knows(41, 3)))
	var did []string
	for range 12 {
		step := plan.Plan(s)
		switch step := step.(type) {
		case steps.BeginRecovery:
			did = append(did, "BeginRecovery "+step.Member)
			status := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
			s.Recovery = status.Recovery
		case steps.DeletePod:
			did = append(did, "DeletePod "+step.Name+": "+step.Message)
			for i := range s.Members {
				if s.Members[i].Name == step.Name {
					plantest.WithoutPod(&s.Members[i])
				}
			}
		case steps.CreateMember:
			t.Fatalf("%v, CreateMember %s (%s): a second cluster with the data of the first", did, step.Name, step.Start)
		}
	}
	t.Logf("%v, then %+v", did, plan.Plan(s))
}

// A leader election takes seconds and loses no write. A recovery in that time would lose the writes that its survivor does
// not have.
func TestConsentToRemoveForeignVotersGivesAnElectionItsTime(t *testing.T) {
	// 3 own and 2 foreign voters. The foreign voters run, own member 2 has lost its data, and an election is under way.
	second := plantest.Guest(func(m *state.ForeignMember) { m.ID = 0xf01 })
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, plantest.With(2, plantest.Gone), plantest.Guest(), second,
		func(s *state.State) {
			s.Asked.RemoveForeign = []string{plantest.GuestID.String(), etcd.ID(0xf01).String()}
		},
		plantest.With(0, plantest.Knows(42, 3)), plantest.With(1, plantest.Knows(41, 3)))
	if step, begins := plan.Plan(s).(steps.BeginRecovery); begins {
		t.Errorf("2 own and 2 foreign of 5 voters may elect a leader at any moment, and the operator begins %+v", step)
	}
}

// Without this, the status reports an outage although clients are served.
func TestReadyPodsProveAQuorumThatNeedsForeignVoters(t *testing.T) {
	// The operator briefly cannot reach its 3 members, but their Pods are ready. 3 foreign voters run.
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, func(s *state.State) {
		for i := range 3 {
			plantest.Guest(func(m *state.ForeignMember) { m.ID += etcd.ID(i) })(s)
			m := &s.Members[i]
			m.Answers, m.PodReady, m.UnreadySince = false, true, time.Time{}
		}
	})
	if unknown, _ := state.QuorumUnknown(s); !unknown {
		status := plan.NewStatus(s, plan.Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
		t.Errorf("all 3 Pods are ready, and the status is %+v", status.Conditions[1])
	}
}

// The consent must take effect after the election. Otherwise foreign voters that are lost for good keep the cluster down.
func TestConsentToRemoveForeignVotersAllowsARecoveryAfterTheElection(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, plantest.With(2, plantest.Gone), plantest.Guest(), plantest.Guest(func(m *state.ForeignMember) { m.ID = 0xf01 }),
		func(s *state.State) { s.Asked.RemoveForeign = []string{plantest.GuestID.String(), "f01"} },
		plantest.With(0, plantest.Knows(42, 3), plantest.UnreadyFor(2*state.StartGrace)), plantest.With(1, plantest.Knows(41, 3), plantest.UnreadyFor(2*state.StartGrace)))
	if step, begins := plan.Plan(s).(steps.BeginRecovery); !begins || step.Member != plantest.NameOf(0) {
		t.Errorf("the plan is %+v", plan.Plan(s))
	}
}

// If members still serve, the restore of an old snapshot loses what clients have written since.
func TestForeignVotersThatAreAQuorumByThemselvesAreNamedBeforeAnyRestore(t *testing.T) {
	// 1 own voter and 2 foreign ones, which run outside of Kubernetes.
	guests := plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.NoQuorum, plantest.Guest(), plantest.Guest(func(m *state.ForeignMember) { m.ID = 0xf01 }))
	withoutMembers := func(s *state.State) { s.Members = nil }
	blocked := plantest.With(0, plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.UnreadyFor(2*state.StartGrace))
	for name, test := range map[string]struct {
		reason  string
		changes []plantest.Change
	}{
		"the operator's own voter is lost":       {v1beta2.ReasonQuorumLost, []plantest.Change{withoutMembers}},
		"the operator's own voter cannot run":    {v1beta2.ReasonPodFailing, []plantest.Change{blocked}},
		"the operator's own voter has no leader": {v1beta2.ReasonQuorumLost, []plantest.Change{plantest.With(0, plantest.Knows(42, 3), plantest.UnreadyFor(2*state.StartGrace))}},
	} {
		s := guests
		s.Members = slices.Clone(guests.Members)
		for _, c := range test.changes {
			c(&s)
		}
		wait, is := plan.Plan(s).(steps.Wait)
		if !is || wait.Reason != test.reason || !wait.Stalled {
			t.Errorf("%s: %+v", name, plan.Plan(s))
		}
		if strings.Contains(wait.Message, "accepts no writes") || !strings.Contains(wait.Message, plantest.GuestID.String()) || !strings.Contains(wait.Message, etcd.ID(0xf01).String()) {
			t.Errorf("%s: the message does not name the members that may serve: %s", name, wait.Message)
		}
	}
}

// The consent to remove foreign voters may stand for months, because the operator cannot remove them. If the network between
// them and Kubernetes fails, they are a quorum and continue to serve.
func TestConsentToRemoveAQuorumIsNoConsentToASecondCluster(t *testing.T) {
	oneOwn := []plantest.Change{plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.NoQuorum, plantest.VotersOf(1), plantest.ForeignVoters(2), plantest.Consenting, plantest.With(0, plantest.Knows(42, 3), plantest.UnreadyFor(2*state.StartGrace))}
	twoOwn := []plantest.Change{plantest.Formed, plantest.Members(2), plantest.Size(1), plantest.NoQuorum, plantest.VotersOf(2), plantest.ForeignVoters(2), plantest.Consenting, plantest.With(0, plantest.Knows(42, 3), plantest.UnreadyFor(2*state.StartGrace)), plantest.With(1, plantest.Gone)}
	learner := func(s *state.State) { s.ForeignMembers[1].Learner = true }
	learnerAlone := func(s *state.State) { s.ForeignMembers = []state.ForeignMember{{ID: 100, Learner: true}} }
	for name, test := range map[string]struct {
		changes []plantest.Change
		begins  bool
	}{
		"the foreign voters are a quorum":                                                  {append(oneOwn, plantest.Removable), false},
		"the statement names both foreign voters":                                          {append(oneOwn, plantest.ForeignStopped), true},
		"the statement names one foreign voter, and the other one is no quorum":            {append(oneOwn, plantest.Removable, func(s *state.State) { s.Asked.StoppedForeign = []string{"64"} }), true},
		"the statement names one foreign voter, and there is no consent for the other one": {append(oneOwn, func(s *state.State) { s.Asked.StoppedForeign = []string{"64"} }), false},
		"the foreign voters are a quorum if one of two own members may not vote yet":       {append(twoOwn, plantest.Removable, func(s *state.State) { s.Promoting = plantest.NameOf(1) }), false},
		"the foreign voters are a quorum if one of two own members may be removed already": {append(twoOwn, plantest.Removable, func(s *state.State) { s.Removing = plantest.NameOf(1) }), false},
		"the foreign voters are no quorum beside two own voters":                           {append(twoOwn, plantest.Removable), true},
		"the foreign members are no quorum of four, even if the learner is promoted":       {append(twoOwn, learner, plantest.Removable), true},
		"a foreign learner needs no consent if it completes no quorum":                     {[]plantest.Change{plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, learnerAlone, plantest.With(0, plantest.Knows(42, 3), plantest.UnreadyFor(2*state.StartGrace)), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone)}, true},
		"a foreign learner does not delay a recovery if it completes no quorum":            {[]plantest.Change{plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, learnerAlone, plantest.With(0, plantest.Knows(42, 3), plantest.UnreadyFor(time.Second)), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone)}, true},
		"a foreign learner completes a quorum if a person promotes it":                     {append(twoOwn, learnerAlone), false},
		"a foreign learner does not block a recovery after consent to its removal":         {append(twoOwn, learnerAlone, plantest.Removable), true},
		"a quorum with the foreign learner may still elect a leader":                       {append(twoOwn, learnerAlone, plantest.Removable, plantest.With(0, plantest.UnreadyFor(time.Second))), false},
		"the foreign voters are no quorum if one of them may be removed already":           {append(twoOwn, plantest.Removable, func(s *state.State) { s.Removing = etcd.ID(100).String() }), true},
		"the foreign members are a quorum if the learner is promoted":                      {append(oneOwn, learner, plantest.Removable), false},
		"the statement names the foreign learner":                                          {append(oneOwn, learner, plantest.Removable, func(s *state.State) { s.Asked.StoppedForeign = []string{"65"} }), true},
	} {
		step := plan.Plan(plantest.StateWith(test.changes...))
		if _, begins := step.(steps.BeginRecovery); begins != test.begins {
			t.Errorf("%s: the plan is %+v", name, step)
		}
	}
}

// If the status named one ID at a time, a person would write each into the annotation, and overwrite the previous one.
func TestTheStatusNamesAllForeignMembersForTheStatement(t *testing.T) {
	both := v1beta2.AnnotationStoppedForeign + "=0000000000000064,0000000000000065."
	quorum := plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.NoQuorum, plantest.VotersOf(1), plantest.ForeignVoters(2), plantest.Consenting, plantest.With(0, plantest.Knows(42, 3), plantest.UnreadyFor(2*state.StartGrace)))
	few := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.NoQuorum, plantest.VotersOf(5), plantest.ForeignVoters(2), plantest.Consenting, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(3, plantest.Gone), plantest.With(4, plantest.Gone), plantest.With(0, plantest.UnreadyFor(2*state.StartGrace)))
	for name, s := range map[string]state.State{"the foreign voters are a quorum": quorum, "the foreign voters are no quorum": few} {
		for _, said := range [][]string{nil, {"64"}} {
			s.Asked.StoppedForeign = said
			wait, is := plan.Plan(s).(steps.Wait)
			if !is || !strings.HasSuffix(wait.Message, "Stop them for good. Then annotate the EtcdCluster with "+both) && said == nil || !strings.Contains(wait.Message, "0000000000000065") {
				t.Errorf("%s, %q is said: %+v", name, said, plan.Plan(s))
			}
		}
	}
	useless := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.ForeignVoters(1), plantest.With(0, plantest.UnreadyFor(2*state.StartGrace)), plantest.With(1, plantest.UnreadyFor(2*state.StartGrace)), plantest.With(2, plantest.UnreadyFor(2*state.StartGrace)))
	if wait, is := plan.Plan(useless).(steps.Wait); !is || strings.Contains(wait.Message, v1beta2.AnnotationStoppedForeign) {
		t.Errorf("all own voters have their data, and the status asks for a statement that changes nothing: %+v", wait)
	}
	doubted := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, plantest.ForeignVoters(1), plantest.With(0, plantest.UnreadyFor(2*state.StartGrace)), plantest.With(1, plantest.UnreadyFor(2*state.StartGrace)), plantest.With(2, plantest.Gone), func(s *state.State) { s.Removing = etcd.ID(100).String() })
	if wait, is := plan.Plan(doubted).(steps.Wait); !is || strings.Contains(wait.Message, v1beta2.AnnotationStoppedForeign) {
		t.Errorf("two own voters may be a quorum of three, and the status asks for a statement that changes nothing: %+v", wait)
	}
	quorum.Asked.StoppedForeign, quorum.Spec.Recovery = []string{"64", "65"}, nil
	if wait, is := plan.Plan(quorum).(steps.Wait); !is || strings.Contains(wait.Message, "may be a quorum") {
		t.Errorf("after the statement the status still says that they may serve: %+v", wait)
	}
}
