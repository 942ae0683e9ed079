package waits_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A member has the new CA and does not start. If the others refuse it because they trust only the old CA, the user must restart these. A member that the advice
// names although it is not the cause would be restarted without need.
func TestTheAdviceToRestartForTheNewCANamesOnlyMembersThatRefuseIt(t *testing.T) {
	old := func(m *state.Member) { m.Trust, m.Answers, m.Serving = "old", false, false }
	for name, test := range map[string]struct {
		other func(*state.Member)
		named bool
	}{
		"it runs with the old CA":                    {func(*state.Member) {}, true},
		"it answers":                                 {func(m *state.Member) { m.Answers = true }, false},
		"it has the new CA":                          {func(m *state.Member) { m.Trust = "new" }, false},
		"it is of a cluster that a restore replaced": {func(m *state.Member) { m.Incarnation = 0 }, false},
		"it is no member of etcd":                    {func(m *state.Member) { m.InMembership = false }, false},
		"its Pod has ended":                          {plantest.Pod(state.PodEnded), false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.WithTLS, plantest.Members(3), plantest.Certs(func(c *state.Certificates) { c.Trust = "new" }),
			plantest.With(0, func(m *state.Member) { m.Trust = "new" }), plantest.With(1, plantest.UnreadyFor(time.Hour), func(m *state.Member) { m.Trust = "new" }), plantest.With(2, old, test.other))
		s.Members[1].EtcdSince = plantest.Noon.Add(-time.Hour)
		if advice := waits.RefusedByOthers(s, s.Members[1]); strings.Contains(advice, plantest.NameOf(2)) != test.named {
			t.Errorf("%s: %q", name, advice)
		}
		if advice := waits.RefusedByOthers(s, s.Members[2]); advice != "" {
			t.Errorf("%s: a member with the old CA itself: %q", name, advice)
		}
	}
}
