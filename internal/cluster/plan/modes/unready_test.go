package modes_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A drain would evict Pods that are not ready if the PodDisruptionBudget does not count them, and with them data that is only there, or reads of a cluster that is
// read-only. If it counted them without need, an unhealthy Pod would block each drain.
func TestTheBudgetCountsUnreadyPodsOnlyIfTheyServeOrHaveTheOnlyData(t *testing.T) {
	alarm := plantest.With(1, func(m *state.Member) { m.ProbesAlarm = true })
	readOnly := func(s *state.State) { s.Spec.ReadOnly = true }
	unready := func(s *state.State) { s.Services.ClientUnready = true }
	none := func(*state.State) {}
	for name, test := range map[string]struct {
		of, probes plantest.Change
		counts     bool
	}{
		"the data is on volumes":                           {none, none, false},
		"the data is in Pods":                              {plantest.Ephemeral, none, true},
		"the probes see a fence":                           {none, alarm, false},
		"the spec asks for a fence":                        {readOnly, none, false},
		"the spec asks for a fence, which the probes see":  {readOnly, alarm, true},
		"the Service selects unready Pods":                 {unready, none, false},
		"the Service selects unready Pods, behind a fence": {unready, alarm, true},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), test.of, test.probes)
		if counts := modes.KeepsUnready(s); counts != test.counts {
			t.Errorf("%s: %t", name, counts)
		}
	}
}
