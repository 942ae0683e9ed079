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

// What the replacement of members without volumes rests on: a new one is sent the raft log that its leader has in
// memory, with what 3.5 wrote in it, and 3.7 panics. After the preparation it is sent a snapshot instead.
func TestANewMemberOf37IsSentNothingThat35Wrote(t *testing.T) {
	t.Parallel()
	cluster := servers.Etcd(t, servers.EtcdOptions{Minor: "3.5"})
	first := ask(t, cluster.Members[0])
	second := join(t, cluster, first, "3.6")
	eventually(t, "a member of 3.6 votes in a cluster of 3.5", func(ctx context.Context) error {
		return promoteIn(ctx, first)
	})
	cluster.Members[0].Become("3.6")
	cluster.Members[0].AwaitHealthy()
	leads := ask(t, second)
	eventually(t, "the member leads that was sent the log of 3.5", func(ctx context.Context) error {
		status, err := leads.Status(ctx)
		if err != nil || status.Leader() {
			return err
		}
		return first.MoveLeader(ctx, status.MemberID)
	})
	awaitStatus(t, cluster, "data of 3.6", func(s etcd.Status) bool { return s.StorageVersion == "3.6.0" })

	unprepared := join(t, cluster, leads, "3.7")
	if words := unprepared.AwaitEnd(); !strings.Contains(words, "unmarshal should never fail") {
		t.Errorf("3.7 ended with other words; is the preparation still needed?\n%s", words)
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
	eventually(t, "a member of 3.7 votes", func(ctx context.Context) error { return promoteIn(ctx, leads) })
}

// And why they cannot go down by a minor version: nobody of it can join, neither before the way down nor on it.
func TestNoMemberOfAnOlderMinorJoinsACluster(t *testing.T) {
	t.Parallel()
	cluster := servers.Etcd(t, servers.EtcdOptions{Minor: "3.6"})
	first := ask(t, cluster.Members[0])
	awaitStatus(t, cluster, "data of 3.6", func(s etcd.Status) bool { return s.StorageVersion == "3.6.0" })
	const refused = "incompatible with current running cluster"
	if words := join(t, cluster, first, "3.5").AwaitEnd(); !strings.Contains(words, refused) {
		t.Errorf("3.5 ended with other words:\n%s", words)
	}
	dropLearner(t, cluster, first)
	eventually(t, "etcd is to go down to 3.5", func(ctx context.Context) error { return first.EnableDowngrade(ctx, "3.5.0") })
	awaitStatus(t, cluster, "data of 3.5", func(s etcd.Status) bool { return s.StorageVersion == "3.5.0" && s.Downgrade == "3.5.0" })
	if words := join(t, cluster, first, "3.5").AwaitEnd(); !strings.Contains(words, refused) {
		t.Errorf("3.5 ended with other words on the way down; may it join now?\n%s", words)
	}
}

// join adds a learner and starts it.
func join(t *testing.T, cluster *servers.EtcdCluster, through *etcd.Client, minor string) *servers.EtcdMember {
	t.Helper()
	peerURL := servers.PeerURL(t)
	eventually(t, "a learner is added", func(ctx context.Context) error { return through.AddLearner(ctx, peerURL) })
	return cluster.Join(t, minor, peerURL)
}

// promoteIn gives the learner its vote.
func promoteIn(ctx context.Context, through *etcd.Client) error {
	members, err := through.Members(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(members, func(m etcd.Member) bool { return m.Learner })
	if i < 0 {
		return errors.New("there is no learner")
	}
	return through.Promote(ctx, members[i].ID)
}

// dropLearner removes the learner that was joined last.
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
