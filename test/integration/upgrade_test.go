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

// The operator's preparation for 3.7 depends on this behaviour of etcd: 3.7 panics on a raft log that 3.5 wrote.
func TestIdleClusterCreatedWith35PanicsOn37(t *testing.T) {
	t.Parallel()
	member := servers.Etcd(t, servers.EtcdOptions{Minor: "3.5"}).Members[0]
	member.Become("3.6")
	member.AwaitHealthy()
	member.Become("3.7")
	if log := member.AwaitEnd(); !strings.Contains(log, "unmarshal should never fail") {
		t.Errorf("3.7 ended with a different error; check whether the operator's preparation is still needed\n%s", log)
	}
}

// The preparation enables and cancels the downgrade of the data to 3.5 while all members run 3.6. Every member then takes
// a raft snapshot, also a late member that received the old log. No member restarts, and the revision does not change.
func TestDowngradeAndReturnLetsAnIdleClusterUpgradeTo37(t *testing.T) {
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
	awaitStatus(t, cluster, "data of 3.6, also on the late member", func(s etcd.Status) bool { return s.StorageVersion == "3.6.0" })
	status, err := ask(t, late).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the late member becomes a voter", func(ctx context.Context) error { return first.Promote(ctx, status.MemberID) })
	revision := status.Revision

	if err := first.EnableDowngrade(t.Context(), "3.5.0"); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, cluster, "data of 3.5", func(s etcd.Status) bool { return s.StorageVersion == "3.5.0" && s.Downgrade == "3.5.0" })
	for range 2 {
		if err := first.CancelDowngrade(t.Context()); err != nil {
			t.Errorf("the downgrade cannot be cancelled, or not a second time: %v", err)
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
				return fmt.Errorf("the status is %+v", status)
			}
			return err
		})
	}
}

// eventually calls try until it returns no error. It fails the test after a minute.
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
			t.Fatalf("%s: this did not happen within a minute: %v", what, err)
		}
	}
}
