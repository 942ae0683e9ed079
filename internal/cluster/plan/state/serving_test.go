package state_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// While a cluster was upgraded from etcd 3.4, a question about users to a member of 3.5 ended all members of 3.4 for good.
func TestNoMemberIsAskedAboutUsersBeforeEachRunsEtcd35(t *testing.T) {
	runs := func(version string) func(*state.Member) {
		return func(m *state.Member) { m.Version, m.StorageVersion = version, "" }
	}
	silent := func(image string) func(*state.Member) {
		return func(m *state.Member) {
			m.Version, m.Answers, m.Serving, m.PodImage = "", false, false, image
		}
	}
	foreign := func(s *state.State) { s.ForeignMembers = []state.ForeignMember{{}} }
	for name, test := range map[string]struct {
		s    state.State
		want bool
	}{
		"all run 3.5":                   {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, runs("3.5.21")), plantest.With(1, runs("3.5.21")), plantest.With(2, runs("3.5.21"))), true},
		"all run 3.6":                   {plantest.StateWith(plantest.Formed, plantest.Members(3)), true},
		"one runs 3.4":                  {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, runs("3.5.21")), plantest.With(1, runs("3.5.21")), plantest.With(2, runs("3.4.40"))), false},
		"a silent one has a Pod of 3.4": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, runs("3.5.21")), plantest.With(1, runs("3.5.21")), plantest.With(2, silent("quay.io/coreos/etcd:v3.4.40"))), false},
		"a silent one ran 3.4 when all answered": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, runs("3.5.21")), plantest.With(1, runs("3.5.21")), plantest.With(2, silent("mirror/etcd:latest")), func(s *state.State) {
			s.KnownVersion = "3.4.40"
		}), false},
		"the version of a foreign one is not known": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, runs("3.5.21")), plantest.With(1, runs("3.5.21")), plantest.With(2, runs("3.5.21")), foreign), false},
	} {
		if got := state.MayReadAccounts(test.s); got != test.want {
			t.Errorf("%s: asked: %t, want %t", name, got, test.want)
		}
	}
}
