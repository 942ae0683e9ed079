package certificates_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A user has put back a CA, and all members that run trust only that one. If the operator did not issue certificates of it at once, no client could ever connect. If it
// did while one member accepts those in use, the clients of that member would be refused.
func TestAnEarlierCAIssuesAtOnceOnlyIfNoMemberAcceptsTheCertificatesInUse(t *testing.T) {
	none := func(*state.State) {}
	for name, test := range map[string]struct {
		change plantest.Change
		issues bool
	}{
		"all members refuse those in use": {none, true},
		"one Pod does not run":            {plantest.With(1, plantest.WithoutPod), true},
		"no Pod runs": {func(s *state.State) {
			plantest.With(0, plantest.WithoutPod)(s)
			plantest.With(1, plantest.WithoutPod)(s)
			plantest.With(2, plantest.WithoutPod)(s)
		}, false},
		"a quorum answers":               {func(s *state.State) { s.MembershipKnown = true }, false},
		"those in use are of the CA":     {plantest.Certs(func(c *state.Certificates) { c.Outdated = false }), false},
		"the cluster was never formed":   {func(s *state.State) { s.ClusterID = "" }, false},
		"one member answers":             {plantest.With(1, func(m *state.Member) { m.Answers = true }), false},
		"one member is silent for 30 s":  {plantest.With(1, func(m *state.Member) { m.SilentSince = plantest.Noon.Add(-30 * time.Second) }), false},
		"one member trusts another CA":   {plantest.With(1, func(m *state.Member) { m.Trust = "other" }), false},
		"one member trusts the operator": {plantest.Certs(func(c *state.Certificates) { c.Refusing = "" }), false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.NoQuorum, plantest.Certs(func(c *state.Certificates) {
			c.Outdated, c.Wanted, c.Refusing = true, "back", "older back"
		}))
		for i := range s.Members {
			m := &s.Members[i]
			plantest.Pod(state.PodRunning)(m)
			m.Trust, m.Answers, m.Serving, m.SilentSince = "back", false, false, plantest.Noon.Add(-time.Hour)
		}
		test.change(&s)
		if step := certificates.IssueCertificates(s); (step == steps.Step(steps.WriteCertificates{Switch: true, Cause: "no member accepts those in use, and all trust the CA that signs now"})) != test.issues {
			t.Errorf("%s: %T %+v", name, step, step)
		}
	}
}
