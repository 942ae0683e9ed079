package repair_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// One slow read is no outage. A seed that had served for an hour was restarted after it, if a CA had been added meanwhile. The old members had stopped,
// so no member served until it had read its database again.
func TestASeedThatDoesNotAnswerOnceIsNotRestartedForItsCA(t *testing.T) {
	for name, change := range map[string]func(*state.Member){
		"etcd 3.5 and newer": func(*state.Member) {},
		"etcd 3.4":           func(m *state.Member) { m.ReadyAlone, m.UnreadySince = true, m.SilentSince },
		"the clock of the operator is behind": func(m *state.Member) {
			m.EtcdSince, m.PodCreated = plantest.Noon.Add(time.Hour), plantest.Noon.Add(time.Hour)
		},
	} {
		once := func(m *state.Member) { m.SilentSince = plantest.Noon.Add(-time.Second); change(m) }
		for where, s := range map[string]state.State{
			"seeding":                      plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.Restored(v1beta2.RestoreSeeding), plantest.Asked, plantest.ASeed(plantest.RefusesOperator(time.Hour), once)),
			"the old members have stopped": plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.Restored(v1beta2.RestoreSwitching), plantest.Asked, plantest.Stopped, plantest.ASeed(plantest.RefusesOperator(time.Hour), once)),
		} {
			if stop, is := plan.Plan(s).(steps.DeletePod); is && stop.Name == plantest.SeedName {
				t.Errorf("%s, %s: the seed is restarted", name, where)
			}
		}
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.NoQuorum, plantest.Consenting, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(0, plantest.RefusesOperator(time.Hour), func(m *state.Member) { m.Start, m.Seed = state.StartForce, nil }, once))
		plantest.ForcedAgo(&s, 0, time.Hour)
		if stop, is := plan.Plan(s).(steps.DeletePod); is {
			t.Errorf("%s, the survivor: %#v", name, stop)
		}
	}
}

// The operator has just been started, so it has not seen for how long the seed is silent. The kubelet has: the Pod has not been ready for an hour. Without
// the restart, the restore would fail because the seed has not served.
func TestASeedThatIsNotReadyRestartsForItsCAAlsoAfterTheOperatorHas(t *testing.T) {
	unready := func(m *state.Member) {
		m.PodReady, m.UnreadySince, m.SilentSince = false, plantest.Noon.Add(-time.Hour), plantest.Noon
	}
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.Restored(v1beta2.RestoreSeeding), plantest.Asked, plantest.ASeed(plantest.RefusesOperator(time.Hour), unready))
	if stop, is := plan.Plan(s).(steps.DeletePod); !is || stop.Name != plantest.SeedName {
		t.Errorf("%#v", plan.Plan(s))
	}
}
