package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// etcdctl prints IDs without leading zeros. If a person copies such an ID, the operator must find the member.
func TestAForeignMemberIsNamedByItsIDAsEtcdctlPrintsIt(t *testing.T) {
	s := stateWith(formed, members(3), guest(withoutVote), func(s *state.State) { s.Asked.RemoveForeign = []string{"f00"} })
	if _, removes := Plan(s).(steps.RemoveMember); !removes {
		t.Errorf("etcdctl member list prints f00, and the plan is %+v", Plan(s))
	}
}
