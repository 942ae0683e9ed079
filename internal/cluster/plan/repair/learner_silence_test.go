package repair_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A new leader read an old cache, which showed a member that had been removed since. Hours later a learner got the name of it, and was removed as soon as it ran: "it has not caught up
// with the leader within 10m". After three of them the operator added no member for half an hour (SIM_SEED=172, world 13).
func TestTheTimeOfALearnerDoesNotCountFromAnEarlierMemberOfItsName(t *testing.T) {
	running := func(m *state.Member) {
		m.InMembership, m.Answers, m.Serving, m.PodReady, m.ID = false, false, false, false, 0
	}
	unused := func(m *state.Member) { running(m); m.Pod, m.VolumeUnused = state.PodNone, true }
	learner := func(m *state.Member) {
		m.InMembership, m.Learner, m.ID, m.Answers, m.Serving, m.PodReady, m.Pod = true, true, 99, true, false, false, state.PodRunning
	}
	var silence repair.Silence
	for i, look := range []func(*state.Member){running, unused, unused, learner} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.Size(4), plantest.With(3, look))
		s.Now = plantest.Noon.Add(time.Duration(i) * 9 * time.Minute)
		silence = silence.Saw(&s)
		if step, removes := plan.Plan(s).(steps.RemoveMember); removes {
			t.Errorf("%+v, silent since %s", step, s.Members[3].SilentSince)
		}
		if i == 3 {
			s.Now = s.Now.Add(9 * time.Minute)
			silence = silence.Saw(&s)
			s.Now = s.Now.Add(2 * time.Minute)
			silence.Saw(&s)
			if quiet := s.Now.Sub(s.Members[3].SilentSince); quiet != 11*time.Minute {
				t.Errorf("after 11 minutes the learner has not caught up for %s", quiet)
			}
		}
	}
}
