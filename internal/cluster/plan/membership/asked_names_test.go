package membership_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// etcdctl prints IDs without leading zeros. If a person copies such an ID, the operator must find the member.
func TestAForeignMemberIsNamedByItsIDAsEtcdctlPrintsIt(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(plantest.WithoutVote), func(s *state.State) { s.Asked.RemoveForeign = []string{"f00"} })
	if _, removes := plan.Plan(s).(steps.RemoveMember); !removes {
		t.Errorf("etcdctl member list prints f00, and the plan is %+v", plan.Plan(s))
	}
}
