package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// The replacement of members without volumes depends on this behaviour of etcd. A leader sends a new member the raft log
// in its memory. If 3.5 wrote entries of it, a member of 3.7 panics. After the operator's preparation, the leader sends a
// snapshot instead.
func TestNewMemberOf37JoinsOnlyAfterTheRaftLogOf35IsCleared(t *testing.T) {
	t.Parallel()
	cluster := servers.Etcd(t, servers.EtcdOptions{Minor: "3.5"})
	first := ask(t, cluster.Members[0])
	second := join(t, cluster, first, "3.6")
	eventually(t, "a member of 3.6 becomes a voter in a cluster of 3.5", func(ctx context.Context) error {
		return promoteIn(ctx, first)
	})
	cluster.Members[0].Become("3.6")
	cluster.Members[0].AwaitHealthy()
	leads := ask(t, second)
	eventually(t, "the member that received the log of 3.5 is the leader", func(ctx context.Context) error {
		status, err := leads.Status(ctx)
		if err != nil || status.Leader() {
			return err
		}
		return first.MoveLeader(ctx, status.MemberID)
	})
	awaitStatus(t, cluster, "data of 3.6", func(s etcd.Status) bool { return s.StorageVersion == "3.6.0" })

	unprepared := join(t, cluster, leads, "3.7")
	if log := unprepared.AwaitEnd(); !strings.Contains(log, "unmarshal should never fail") {
		t.Errorf("3.7 ended with a different error; check whether the operator's preparation is still needed\n%s", log)
	}
	dropLearner(t, cluster, leads)

	if err := leads.EnableDowngrade(t.Context(), "3.5.0"); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, cluster, "data of 3.5", func(s etcd.Status) bool { return s.StorageVersion == "3.5.0" && s.Downgrade == "3.5.0" })
	if err := leads.CancelDowngrade(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, cluster, "data of 3.6 again", func(s etcd.Status) bool { return s.StorageVersion == "3.6.0" && s.Downgrade == "" })
	join(t, cluster, leads, "3.7")
	eventually(t, "a member of 3.7 becomes a voter", func(ctx context.Context) error { return promoteIn(ctx, leads) })
}

// Members without volumes cannot be downgraded by a minor version, because a member of the older version cannot join.
// It cannot join before the downgrade is enabled, and not afterwards.
func TestMembersOfAnOlderMinorVersionCannotJoin(t *testing.T) {
	t.Parallel()
	cluster := servers.Etcd(t, servers.EtcdOptions{Minor: "3.6"})
	first := ask(t, cluster.Members[0])
	awaitStatus(t, cluster, "data of 3.6", func(s etcd.Status) bool { return s.StorageVersion == "3.6.0" })
	const refused = "incompatible with current running cluster"
	if log := join(t, cluster, first, "3.5").AwaitEnd(); !strings.Contains(log, refused) {
		t.Errorf("3.5 ended with a different error:\n%s", log)
	}
	dropLearner(t, cluster, first)
	eventually(t, "the downgrade to 3.5 is enabled", func(ctx context.Context) error { return first.EnableDowngrade(ctx, "3.5.0") })
	awaitStatus(t, cluster, "data of 3.5", func(s etcd.Status) bool { return s.StorageVersion == "3.5.0" && s.Downgrade == "3.5.0" })
	if log := join(t, cluster, first, "3.5").AwaitEnd(); !strings.Contains(log, refused) {
		t.Errorf("3.5 ended with a different error during the downgrade; check whether it can join now\n%s", log)
	}
}

// join adds a learner and starts it.
func join(t *testing.T, cluster *servers.EtcdCluster, through *etcd.Client, minor string) *servers.EtcdMember {
	t.Helper()
	peerURL := servers.PeerURL(t)
	eventually(t, "a learner is added", func(ctx context.Context) error { return through.AddLearner(ctx, peerURL) })
	return cluster.Join(t, minor, peerURL)
}

// promoteIn promotes the learner to a voter.
func promoteIn(ctx context.Context, through *etcd.Client) error {
	members, err := through.Members(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(members, func(m etcd.Member) bool { return m.Learner })
	if i < 0 {
		return errors.New("the cluster has no learner")
	}
	return through.Promote(ctx, members[i].ID)
}

// dropLearner removes the learner that joined last.
func dropLearner(t *testing.T, cluster *servers.EtcdCluster, through *etcd.Client) {
	t.Helper()
	members, err := through.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if m.Learner {
			eventually(t, "the learner is removed", func(ctx context.Context) error { return through.Remove(ctx, m.ID) })
		}
	}
	cluster.Members = cluster.Members[:len(cluster.Members)-1]
}
