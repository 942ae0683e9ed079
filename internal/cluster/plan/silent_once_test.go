package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// One slow read is no outage. A seed that had served for an hour was restarted after it, if a CA had been added meanwhile. The old members had stopped,
// so no member served until it had read its database again.
func TestASeedThatDoesNotAnswerOnceIsNotRestartedForItsCA(t *testing.T) {
	for name, change := range map[string]func(*state.Member){
		"etcd 3.5 and newer": func(*state.Member) {},
		"etcd 3.4":           func(m *state.Member) { m.ReadyAlone, m.UnreadySince = true, m.SilentSince },
		"the clock of the operator is behind": func(m *state.Member) {
			m.EtcdSince, m.PodCreated = noon.Add(time.Hour), noon.Add(time.Hour)
		},
	} {
		once := func(m *state.Member) { m.SilentSince = noon.Add(-time.Second); change(m) }
		for where, s := range map[string]state.State{
			"seeding":                      stateWith(formed, members(3), managed, restored(v1beta2.RestoreSeeding), asked, aSeed(refusesOperator(time.Hour), once)),
			"the old members have stopped": stateWith(formed, members(3), managed, restored(v1beta2.RestoreSwitching), asked, stopped, aSeed(refusesOperator(time.Hour), once)),
		} {
			if stop, is := Plan(s).(steps.DeletePod); is && stop.Name == seedName {
				t.Errorf("%s, %s: the seed is restarted", name, where)
			}
		}
		s := stateWith(formed, members(3), managed, noQuorum, consenting, with(1, gone), with(2, gone), with(0, refusesOperator(time.Hour), func(m *state.Member) { m.Start, m.Seed = state.StartForce, nil }, once))
		forcedAgo(&s, 0, time.Hour)
		if stop, is := Plan(s).(steps.DeletePod); is {
			t.Errorf("%s, the survivor: %#v", name, stop)
		}
	}
}

// The operator has just been started, so it has not seen for how long the seed is silent. The kubelet has: the Pod has not been ready for an hour. Without
// the restart, the restore would fail because the seed has not served.
func TestASeedThatIsNotReadyRestartsForItsCAAlsoAfterTheOperatorHas(t *testing.T) {
	unready := func(m *state.Member) { m.PodReady, m.UnreadySince, m.SilentSince = false, noon.Add(-time.Hour), noon }
	s := stateWith(formed, members(3), managed, restored(v1beta2.RestoreSeeding), asked, aSeed(refusesOperator(time.Hour), unready))
	if stop, is := Plan(s).(steps.DeletePod); !is || stop.Name != seedName {
		t.Errorf("%#v", Plan(s))
	}
}
