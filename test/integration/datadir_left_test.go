package integration

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// A restore that went wrong leaves the volumes of the old members. All but one of them have left their cluster, and etcd itself starts such a
// directory under no circumstances. A user must still get back everything in it.
func TestAMemberThatHasLeftItsFencedClusterEndsAndCanBeRestored(t *testing.T) {
	for _, minor := range tabled {
		t.Run("etcd "+minor, func(t *testing.T) {
			t.Parallel()
			cluster := servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: 3, Args: logOnly})
			acknowledged := writeEverything(t, cluster)
			root, err := etcd.NewLogin([]byte("root"), []byte("secret"))
			if err != nil {
				t.Fatal(err)
			}
			operator := func(i int) *etcd.Client { return askAs(t, cluster.Members[i], root) }
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if last, err := operator(0).Fence(ctx, etcd.FenceID("restore")); err != nil || last != acknowledged {
				t.Fatalf("fenced at %d, %v, want %d", last, err, acknowledged)
			}
			status, err := operator(0).Status(ctx)
			if err != nil {
				t.Fatal(err)
			}
			ids, leads := map[*servers.EtcdMember]etcd.ID{}, 0
			for i, member := range cluster.Members {
				own, err := operator(i).Status(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if ids[member] = own.MemberID; own.MemberID == status.LeaderID {
					leads = i
				}
			}
			leader := cluster.Members[leads]
			left := slices.DeleteFunc(slices.Clone(cluster.Members), func(m *servers.EtcdMember) bool { return m == leader })
			for _, member := range left {
				// The member itself may end before it answers. etcd refuses in the first seconds.
				eventually(t, "leave", func(ctx context.Context) error { return operator(leads).Remove(ctx, ids[member]) })
				begin := time.Now()
				member.AwaitEnd()
				t.Logf("%s ended %s after it had left", member.Name, time.Since(begin).Round(time.Millisecond))
			}
			leader.Kill()
			want := seenOf(t, minor, leader, acknowledged)
			for _, member := range left {
				if diff := cmp.Diff(want, seenOf(t, minor, member, acknowledged), protocmp.Transform()); diff != "" {
					t.Errorf("the leader -, %s +:\n%s", member.Name, diff)
				}
			}
		})
	}
}

// seenOf is what clients see of the cluster that is restored from the directory of a member.
func seenOf(t *testing.T, minor string, m *servers.EtcdMember, revision int64) seen {
	t.Helper()
	restored, result := restoredFrom(t, m)
	if result.Revision != revision {
		t.Errorf("the directory of %s ends at revision %d, want %d", m.Name, result.Revision, revision)
	}
	return seenBy(t, restored(minor), revision)
}
