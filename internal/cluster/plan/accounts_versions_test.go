package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
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
		"all run 3.5":                   {stateWith(formed, members(3), with(0, runs("3.5.21")), with(1, runs("3.5.21")), with(2, runs("3.5.21"))), true},
		"all run 3.6":                   {stateWith(formed, members(3)), true},
		"one runs 3.4":                  {stateWith(formed, members(3), with(0, runs("3.5.21")), with(1, runs("3.5.21")), with(2, runs("3.4.40"))), false},
		"a silent one has a Pod of 3.4": {stateWith(formed, members(3), with(0, runs("3.5.21")), with(1, runs("3.5.21")), with(2, silent("quay.io/coreos/etcd:v3.4.40"))), false},
		"a silent one ran 3.4 when all answered": {stateWith(formed, members(3), with(0, runs("3.5.21")), with(1, runs("3.5.21")), with(2, silent("mirror/etcd:latest")), func(s *state.State) {
			s.KnownVersion = "3.4.40"
		}), false},
		"the version of a foreign one is not known": {stateWith(formed, members(3), with(0, runs("3.5.21")), with(1, runs("3.5.21")), with(2, runs("3.5.21")), foreign), false},
	} {
		if got := state.MayReadAccounts(test.s); got != test.want {
			t.Errorf("%s: asked: %t, want %t", name, got, test.want)
		}
	}
}
