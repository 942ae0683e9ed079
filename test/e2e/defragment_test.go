package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// historyWrites writes of historyWriteSize bytes are written and compacted, which leaves free space in every database.
const historyWrites, historyWriteSize = 12, 512 << 10

// defragments creates free space in every database and enables defragmentation. The operator must defragment one member
// at a time, and the leader last, after it moved the leadership. Clients keep working.
func (n *namespaced) defragments(cluster string) {
	n.Helper()
	etcd := n.etcd(cluster, nil)
	value := strings.Repeat("x", historyWriteSize)
	for range historyWrites {
		n.eventuallyQuiet(func(ctx context.Context) error {
			_, err := etcd.Put(ctx, "history", value)
			return err
		})
	}
	n.eventuallyQuiet(func(ctx context.Context) error {
		response, err := etcd.Put(ctx, "history", "")
		if err == nil {
			_, err = etcd.Compact(ctx, response.Header.Revision)
		}
		return err
	})
	largest := map[string]int64{}
	n.eventually("the status reports large databases", func(context.Context) error { return n.large(cluster, largest) })
	traffic := n.traffic(cluster, nil)
	led := n.compacted(cluster)
	n.patch(cluster, `{"spec":{"defragmentation":{"freePercent":30,"minimumSize":"1Mi"}}}`)
	n.eventually("all members are defragmented", func(context.Context) error { return n.smaller(cluster) })
	after := n.ready(cluster)
	// etcd may refuse requests while the leadership moves.
	traffic.stop("a defragmentation of all members").outagesAtMost(n, 1)
	var last time.Time
	for _, m := range after.Status.MemberStatuses {
		n.Logf("member %s: the database shrank to %d bytes from %d; defragmented at %s", m.Name, m.DBSize, largest[m.Name], m.DefragmentedAt.UTC().Format(time.TimeOnly))
		if m.Name == led {
			last = m.DefragmentedAt.Time
			if m.Role == v1beta2.MemberLeader {
				n.Errorf("member %s was defragmented while it was the leader, which stops all writes", m.Name)
			}
		}
	}
	for _, m := range after.Status.MemberStatuses {
		if m.DefragmentedAt.After(last) {
			n.Errorf("member %s was defragmented after the leader %s, but the leader must be last", m.Name, led)
		}
	}
	n.eventually("an event reports the defragmentation of each member", func(ctx context.Context) error {
		events, err := suite.Kubectl(ctx, "-n", n.name, "get", "events", "--field-selector=reason=DefragmentingMember", "-o", "custom-columns=:.related.name", "--no-headers")
		for name := range largest {
			if err == nil && !strings.Contains(events, name) {
				err = fmt.Errorf("member %s has no event: %s", name, events)
			}
		}
		return err
	})
	n.patch(cluster, `{"spec":{"defragmentation":null}}`)
	n.ready(cluster)
}

// large returns an error until the status reports a large database for every member. It stores the sizes in sizes.
func (n *namespaced) large(cluster string, sizes map[string]int64) error {
	for _, m := range n.cluster(cluster).Status.MemberStatuses {
		sizes[m.Name] = m.DBSize
		if m.DBSize < historyWrites*historyWriteSize {
			return fmt.Errorf("the database of member %s has %d bytes", m.Name, m.DBSize)
		}
	}
	return nil
}

// smaller returns an error until every database is small after a defragmentation.
func (n *namespaced) smaller(cluster string) error {
	for _, m := range n.cluster(cluster).Status.MemberStatuses {
		if m.DefragmentedAt == nil || m.DBSize > historyWrites*historyWriteSize/2 {
			return fmt.Errorf("the database of member %s has %d bytes, defragmented at %v", m.Name, m.DBSize, m.DefragmentedAt)
		}
	}
	return nil
}

// catchesUpOnAMissedRun sets a schedule whose last run was missed, as if no operator had run for three minutes.
func (n *namespaced) catchesUpOnAMissedRun(cluster string) {
	n.Helper()
	traffic := n.traffic(cluster, nil)
	n.patch(cluster, `{"spec":{"defragmentation":{"schedule":"* * * * *"}}}`)
	n.ready(cluster)
	missed := time.Now().Add(-3 * time.Minute).UTC().Truncate(time.Second)
	n.kubectl("patch", "etcdcluster/"+cluster, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"defragmentation":{"lastScheduleTime":%q}}}`, missed.Format(time.RFC3339)))
	n.kubectl("annotate", "etcdcluster/"+cluster, "example.com/look=again")
	n.eventually("the operator catches up on the missed run", func(context.Context) error {
		status := n.cluster(cluster).Status
		run := status.Defragmentation
		if run == nil || !run.LastScheduleTime.After(missed) {
			return fmt.Errorf("the last run is %+v", run)
		}
		for _, m := range status.MemberStatuses {
			if m.DefragmentedAt == nil || m.DefragmentedAt.Before(run.LastScheduleTime) {
				return fmt.Errorf("member %s was not defragmented since %s", m.Name, run.LastScheduleTime)
			}
		}
		return nil
	})
	n.patch(cluster, `{"spec":{"defragmentation":null}}`)
	n.ready(cluster)
	traffic.stop("a scheduled defragmentation").outagesAtMost(n, leaderMoves)
}

// compacted waits until no database uses the space of the removed history, which etcd counts as free after later writes. It returns the name of the leader.
func (n *namespaced) compacted(cluster string) (leader string) {
	n.Helper()
	n.eventually("no database uses the space of the removed history", func(ctx context.Context) error {
		for name := range n.pods(cluster) {
			etcd, err := n.member(cluster, name)
			if err != nil {
				return err
			}
			status, err := etcd.Status(ctx, etcd.Endpoints()[0])
			_ = etcd.Close()
			switch {
			case err != nil:
				return err
			case status.DbSizeInUse > historyWrites*historyWriteSize/2:
				return fmt.Errorf("the database of member %s uses %d bytes", name, status.DbSizeInUse)
			case status.Leader == status.Header.MemberId:
				leader = name
			}
		}
		if leader == "" {
			return errors.New("no member leads")
		}
		return nil
	})
	return leader
}
