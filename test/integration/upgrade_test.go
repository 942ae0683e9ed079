package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// What the plan's preparation for 3.7 rests on: a member that was born on 3.5 panics there on its raft log.
func TestAQuietClusterBornOn35PanicsOn37(t *testing.T) {
	t.Parallel()
	member := servers.Etcd(t, servers.EtcdOptions{Minor: "3.5"}).Members[0]
	member.Become("3.6")
	member.AwaitHealthy()
	member.Become("3.7")
	if words := member.AwaitEnd(); !strings.Contains(words, "unmarshal should never fail") {
		t.Errorf("3.7 ended with other words; is the preparation still needed?\n%s", words)
	}
}

// And what it does: the data down to 3.5 and up again while all run 3.6 has every member take a raft snapshot, one
// that was added late and copied the log included. Nobody restarts for it, and no revision is used up.
func TestADowngradeAndBackLetsAQuietClusterGoTo37(t *testing.T) {
	t.Parallel()
	cluster := servers.Etcd(t, servers.EtcdOptions{Minor: "3.5", Size: 3})
	for _, m := range cluster.Members {
		m.Become("3.6")
		m.AwaitHealthy()
	}
	awaitStatus(t, cluster, "data of 3.6", func(s etcd.Status) bool { return s.StorageVersion == "3.6.0" })
	first := ask(t, cluster.Members[0])
	peerURL := servers.PeerURL(t)
	eventually(t, "a learner is added", func(ctx context.Context) error { return first.AddLearner(ctx, peerURL) })
	late := cluster.Join(t, "3.6", peerURL)
	awaitStatus(t, cluster, "data of 3.6 on the late member, too", func(s etcd.Status) bool { return s.StorageVersion == "3.6.0" })
	status, err := ask(t, late).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the late member votes", func(ctx context.Context) error { return first.Promote(ctx, status.MemberID) })
	revision := status.Revision

	if err := first.EnableDowngrade(t.Context(), "3.5.0"); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, cluster, "data of 3.5", func(s etcd.Status) bool { return s.StorageVersion == "3.5.0" && s.Downgrade == "3.5.0" })
	for range 2 {
		if err := first.CancelDowngrade(t.Context()); err != nil {
			t.Errorf("cancelling it once and twice: %v", err)
		}
	}
	awaitStatus(t, cluster, "data of 3.6 again", func(s etcd.Status) bool {
		return s.StorageVersion == "3.6.0" && s.Downgrade == "" && s.Revision == revision
	})

	for _, m := range cluster.Members {
		m.Become("3.7")
		m.AwaitHealthy()
	}
	awaitStatus(t, cluster, "data of 3.7", func(s etcd.Status) bool { return s.Version > "3.7" && s.StorageVersion == "3.7.0" })
}

func ask(t *testing.T, m *servers.EtcdMember) *etcd.Client {
	t.Helper()
	c, err := etcd.Open(etcd.Endpoint{URL: m.ClientURL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func awaitStatus(t *testing.T, cluster *servers.EtcdCluster, what string, is func(etcd.Status) bool) {
	t.Helper()
	for _, m := range cluster.Members {
		c := ask(t, m)
		eventually(t, what+" on "+m.Name, func(ctx context.Context) error {
			status, err := c.Status(ctx)
			if err == nil && !is(status) {
				return fmt.Errorf("%+v", status)
			}
			return err
		})
	}
}

// eventually tries until it works, for a minute.
func eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		}
	}
}
