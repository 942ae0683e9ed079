package state_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A recovery deletes or sets aside the data that it replaces. The data of a member that was added since must be kept, and data from before must not come back.
func TestARecoveryReplacesOnlyDataFromBefore(t *testing.T) {
	started := metav1.NewTime(plantest.Noon.Add(-time.Hour))
	older, younger := started.Add(-time.Hour), started.Add(time.Minute)
	for name, test := range map[string]struct {
		change   func(*state.State, *state.Member)
		replaced bool
	}{
		"its volume is older":                     {func(_ *state.State, m *state.Member) { m.VolumeCreated = older }, true},
		"its volume is as old":                    {func(_ *state.State, m *state.Member) { m.VolumeCreated = started.Time }, true},
		"its volume is younger":                   {func(_ *state.State, m *state.Member) { m.VolumeCreated = younger }, false},
		"its volume is younger, but it voted":     {func(s *state.State, m *state.Member) { m.VolumeCreated, s.Recovery.Voters = younger, []string{m.Name} }, true},
		"its volume is older, and was never used": {func(_ *state.State, m *state.Member) { m.VolumeCreated, m.VolumeUnused = older, true }, false},
		"the age of its volume is not known":      {func(*state.State, *state.Member) {}, false},
		"it is the survivor":                      {func(s *state.State, m *state.Member) { m.VolumeCreated, s.Recovery.Member = older, m.Name }, false},
		"the recovery is complete": {func(s *state.State, m *state.Member) {
			m.VolumeCreated, s.Recovery.Step = older, v1beta2.RecoveryComplete
		}, false},
		"an earlier release has begun it": {func(s *state.State, m *state.Member) { s.Recovery.StartedAt, s.Recovery.Voters = nil, nil }, true},
		"only the voters are known":       {func(s *state.State, m *state.Member) { s.Recovery.StartedAt = nil }, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(4))
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: plantest.NameOf(0), StartedAt: &started, Voters: []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}}
		test.change(&s, &s.Members[3])
		if replaced := state.RecoveryReplaces(s, s.Members[3]); replaced != test.replaced {
			t.Errorf("%s: it is replaced: %t", name, replaced)
		}
	}
}
