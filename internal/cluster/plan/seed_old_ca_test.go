package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The CA expired while a seed was restored, and was replaced at once. The seed refused the operator for good. After the old members had stopped, no
// member served. Before that, the status asked to read the log of the init container.
func TestASeedThatTrustsTheOldCARestarts(t *testing.T) {
	for name, s := range map[string]state.State{
		"seeding":                           stateWith(formed, members(3), managed, restored(v1beta2.RestoreSeeding), asked, aSeed(refusesOperator(time.Hour))),
		"seeding, and the Pod is not ready": stateWith(formed, members(3), managed, restored(v1beta2.RestoreSeeding), asked, aSeed(refusesOperator(time.Hour), unreadyFor(time.Hour), func(m *state.Member) { m.PodReady = false })),
		"the old members have stopped":      stateWith(formed, members(3), managed, restored(v1beta2.RestoreSwitching), asked, stopped, aSeed(refusesOperator(time.Hour))),
	} {
		if stop, is := Plan(s).(steps.DeletePod); !is || stop.Name != seedName || stop.Reason != v1beta2.ReasonRotatingCertificates {
			t.Errorf("%s: %#v", name, Plan(s))
		}
	}
	for name, s := range map[string]state.State{
		"it has just started":          stateWith(formed, members(3), managed, restored(v1beta2.RestoreSeeding), asked, aSeed(refusesOperator(time.Second))),
		"it trusts the present CA":     stateWith(formed, members(3), managed, restored(v1beta2.RestoreSeeding), asked, aSeed(refusesOperator(time.Hour), func(m *state.Member) { m.Trust = "trust" })),
		"it only refuses a password":   stateWith(formed, members(3), managed, restored(v1beta2.RestoreSeeding), asked, aSeed(refusesOperator(time.Hour), func(m *state.Member) { m.Refusal = etcd.RefusedPassword })),
		"only its Pod has its data":    stateWith(formed, members(3), managed, restored(v1beta2.RestoreSwitching), asked, stopped, aSeed(refusesOperator(time.Hour), func(m *state.Member) { m.DataInPod = true })),
		"it serves, and the CA is new": stateWith(formed, members(3), managed, restored(v1beta2.RestoreSeeding), asked, aSeed(serving, func(m *state.Member) { m.Trust = "old" })),
	} {
		if stop, is := Plan(s).(steps.DeletePod); is && stop.Name == seedName {
			t.Errorf("%s: the seed restarts", name)
		}
	}
}

// The survivor of a recovery was started with the CA before, and runs for an hour. The recovery waited for it for good.
func TestASurvivorThatTrustsTheOldCARestarts(t *testing.T) {
	for name, start := range map[string]state.Start{"with --force-new-cluster": state.StartForce, "without it": state.StartRejoin} {
		s := stateWith(formed, members(3), managed, noQuorum, consenting, with(1, gone), with(2, gone), with(0, refusesOperator(time.Hour), func(m *state.Member) { m.Start, m.Seed = start, nil }))
		forcedAgo(&s, 0, time.Hour)
		if stop, is := Plan(s).(steps.DeletePod); !is || stop.Name != nameOf(0) {
			t.Errorf("%s: %#v", name, Plan(s))
		}
		s.Members[0].EtcdSince = noon.Add(-time.Second)
		if stop, is := Plan(s).(steps.DeletePod); is {
			t.Errorf("%s, just started: %#v", name, stop)
		}
	}
}
