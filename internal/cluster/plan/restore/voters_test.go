package restore_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestAMemberThatMayNotVoteYetMakesNoQuorumLarger(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.NoQuorum)
	s.KnownVoters, s.Promoting = []string{s.Members[0].Name, s.Members[1].Name}, s.Members[1].Name
	if !restore.HaveQuorum(s, s.Members[:1]) {
		t.Error("one member is too few, but it may be the only voter")
	}
}
