package members

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// seenMembers is a cluster of three that one process observes. Its second member does not serve, and its Pod has not been ready for eight minutes.
type seenMembers struct {
	q Silence
	s state.State
}

func watch() *seenMembers {
	w := &seenMembers{s: clustertest.State(plantest.Formed, plantest.Members(3))}
	m := &w.s.Members[1]
	m.Serving, m.Answers, m.PodReady, m.UnreadySince = false, false, false, w.s.Now.Add(-8*time.Minute)
	return w
}

// look observes the cluster every 5 seconds for a time, and reports whether the plan removes the member.
func (w *seenMembers) look(d time.Duration, change func(*state.State)) bool {
	for end := w.s.Now.Add(d); ; w.s.Now = w.s.Now.Add(5 * time.Second) {
		change(&w.s)
		w.q.Saw(client.ObjectKey{}, &w.s)
		if _, is := plan.Plan(w.s).(steps.RemoveMember); is {
			return true
		}
		if !w.s.Now.Before(end) {
			return false
		}
	}
}

// The operator counted the time of a learner, of a start and of a lost quorum as the failure of a voter, and removed it in the next pass. Its data
// was copied again, and the cluster had one voter fewer meanwhile.
func TestTheTimeOfAVoterBeginsWhenItCanServe(t *testing.T) {
	for name, before := range map[string]struct{ begin, end func(*state.State) }{
		"it was a learner": {func(s *state.State) { s.Members[1].Learner = true }, func(s *state.State) { s.Members[1].Learner = false }},
		"it read its database": {
			func(s *state.State) { s.Members[1].StartupBudget = 17 * time.Minute }, func(s *state.State) { s.Members[1].StartupBudget = 0 },
		},
		"no quorum served":                   {func(s *state.State) { s.MembershipKnown = false }, func(s *state.State) { s.MembershipKnown = true }},
		"this process has just been started": {func(*state.State) {}, func(*state.State) {}},
	} {
		w := watch()
		if name != "this process has just been started" && w.look(40*time.Second, before.begin) {
			t.Errorf("%s: the member is removed before its time begins", name)
		}
		if w.look(55*time.Second, before.end) {
			t.Errorf("%s: the member is removed within a minute after that", name)
		}
		if !w.look(15*time.Second, before.end) {
			t.Errorf("%s: the member is not replaced", name)
		}
	}
}

// While a cluster is busy, single looks at it fail. Each of them would otherwise delay the replacement of a member that is lost, without an end.
func TestASlowLookDoesNotDelayTheReplacementOfALostMember(t *testing.T) {
	w, looks := watch(), 0
	if !w.look(70*time.Second, func(s *state.State) { looks++; s.MembershipKnown = looks%3 != 0 }) {
		t.Error("the member is not replaced")
	}
	w, looks = watch(), 0
	if w.look(10*time.Minute, func(s *state.State) { looks++; s.MembershipKnown = looks%8 > 3 }) {
		t.Error("the member is removed although a quorum never serves for a minute")
	}
}

// The API server was down for an hour, so the operator looked at no cluster, and no kubelet could report that a Pod is ready. The hour counted as the
// failure of a member that was starting before. It was removed in the first look after the outage, and its data was copied again.
func TestATimeWithoutALookCountsForNoMember(t *testing.T) {
	unchanged := func(*state.State) {}
	w := watch()
	w.look(0, unchanged)
	w.s.Now = w.s.Now.Add(time.Hour)
	if w.look(55*time.Second, unchanged) {
		t.Error("the member is removed within a minute after an hour without a look")
	}
	if !w.look(15*time.Second, unchanged) {
		t.Error("the member is not replaced")
	}
	w = watch()
	for range 4 {
		w.s.Now = w.s.Now.Add(30 * time.Second)
		w.look(0, unchanged)
	}
	if !w.look(0, unchanged) {
		t.Error("an operator that looks every 30 seconds does not replace the member")
	}
}

// The Pod of the second member is ready, and it refuses the operator because of its CA. Then its Pod is not ready for a second. The clock of its node is behind, so
// the Pod seems not to have been ready for an hour.
func TestTheTimeOfAReadyMemberThatRefusesTheOperatorDoesNotCount(t *testing.T) {
	w := watch()
	w.look(10*time.Minute, func(s *state.State) { s.Members[1].PodReady, s.Members[1].UnreadySince = true, time.Time{} })
	unready := func(s *state.State) { s.Members[1].PodReady, s.Members[1].UnreadySince = false, s.Now.Add(-time.Hour) }
	if w.look(50*time.Second, unready) {
		t.Error("it is removed within a minute after its Pod was ready")
	}
	if !w.look(20*time.Second, unready) {
		t.Error("it is not removed after that")
	}
}
