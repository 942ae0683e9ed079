package restore_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Before the seed takes over, the operator reads the Pods past its cache. Writes that members acknowledge beside the seed would be lost, and a reason that is none
// would keep the restore from its end.
func TestTheSeedTakesOverOnlyIfNothingMayAcknowledgeWritesBesideIt(t *testing.T) {
	foreign := func(n int) plantest.Change {
		return func(s *state.State) {
			for i := range n {
				s.ForeignMembers = append(s.ForeignMembers, state.ForeignMember{ID: etcd.ID(90 + i)})
			}
		}
	}
	for name, test := range map[string]struct {
		change plantest.Change
		why    string
	}{
		"all old members have stopped":              {plantest.Stopped, ""},
		"an old member of three runs":               {func(s *state.State) { plantest.Stopped(s); plantest.Voter(&s.Members[1]) }, ""},
		"a quorum of them runs":                     {func(s *state.State) { s.MembershipKnown = false }, "may run beside the seed"},
		"one voter that is not the operator's runs": {func(s *state.State) { plantest.Stopped(s); foreign(1)(s) }, ""},
		"such voters may be a quorum":               {func(s *state.State) { plantest.Stopped(s); foreign(5)(s) }, "voters that the operator did not add may run beside the seed"},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Asked, plantest.Restored(v1beta2.RestoreSwitching), plantest.ASeed(plantest.Serving), test.change)
		if why := restore.InTheWay(s, steps.AdoptSeed{}); !strings.Contains(why, test.why) || test.why == "" && why != "" {
			t.Errorf("%s: %q, want %q", name, why, test.why)
		}
	}
}
