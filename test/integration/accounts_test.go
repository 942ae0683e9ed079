package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
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

// A role whose permissions have long keys could be written, and then no question about users was answered any more. So was a password that etcd refuses: its
// user was deleted and not added again.
func TestLongPermissionsAndPasswords(t *testing.T) {
	for _, minor := range []string{"3.5", "3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			member := ask(t, servers.Etcd(t, servers.EtcdOptions{Minor: minor}).Members[0])
			change := func(c etcd.AccountChange, password string) error {
				return member.ChangeAccount(t.Context(), c, password)
			}
			if err := change(etcd.AccountChange{Act: etcd.AddRole, Name: "long"}, ""); err != nil {
				t.Fatal(err)
			}
			for i := range 50 {
				key := fmt.Sprintf("%02d", i) + strings.Repeat("k", 1022)
				p := etcd.Permission{Key: key + "a", End: key + "b", Read: true, Write: true}
				if err := change(etcd.AccountChange{Act: etcd.Permit, Name: "long", Permission: p}, ""); err != nil {
					t.Fatal(err)
				}
			}
			read, err := member.Accounts(t.Context(), []string{"long"}, nil)
			if err != nil || len(read.Permissions["long"]) != 50 {
				t.Errorf("%d permissions, error %v", len(read.Permissions["long"]), err)
			}
			for n, taken := range map[int]bool{etcd.LongestPassword: true, etcd.LongestPassword + 1: false} {
				if err := change(etcd.AccountChange{Act: etcd.AddUser, Name: fmt.Sprint(n)}, strings.Repeat("p", n)); (err == nil) != taken {
					t.Errorf("a password of %d bytes: error %v", n, err)
				}
			}
		})
	}
}
