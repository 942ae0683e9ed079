package integration

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// While a cluster was upgraded from etcd 3.4, one question about users to a member of 3.5 ended all members of 3.4, again after each restart: the
// question is an entry of the log of raft, which 3.4 does not know. So state.MayReadAccounts demands that each member runs 3.5 or later.
func TestAQuestionAboutUsersEndsMembersOfEtcd34(t *testing.T) {
	t.Parallel()
	cluster := servers.Etcd(t, servers.EtcdOptions{Minor: "3.4", Size: 3})
	cluster.Members[0].Become("3.5")
	cluster.Members[0].AwaitHealthy()
	if _, err := ask(t, cluster.Members[0]).Accounts(t.Context(), nil, nil); err == nil {
		t.Error("the member of 3.5 answers, although no member of 3.4 applies the question")
	}
	for _, m := range cluster.Members[1:] {
		if end := m.AwaitEnd(); !strings.Contains(end, "panic: not implemented") {
			t.Errorf("a member of 3.4 ended with %s", end)
		}
	}
}
