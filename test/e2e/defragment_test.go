package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// historyPieces of historyPiece bytes are what is written and forgotten: free space in every database.
const historyPieces, historyPiece = 12, 512 << 10

// givesSpaceBack has databases hold free space and the spec ask for it: one member after the other gives it back, the
// leader last and not before it handed over, and clients go on.
func (n *namespaced) givesSpaceBack(cluster string) {
	n.Helper()
	etcd := n.etcd(cluster, nil)
	value := strings.Repeat("x", historyPiece)
	for range historyPieces {
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
	n.eventually("the status tells of large databases", func(context.Context) error { return n.large(cluster, largest) })
	led := n.leader(cluster)
	traffic := n.traffic(cluster, nil)
	n.patch(cluster, `{"spec":{"defragmentation":{"freePercent":30,"minimumSize":"1Mi"}}}`)
	n.eventually("all members are defragmented", func(context.Context) error { return n.smaller(cluster) })
	after := n.ready(cluster)
	// The leader hands over, and etcd may refuse what comes in at that moment.
	traffic.stop("a defragmentation of all members").withoutMoreThan(n, 1)
	var last time.Time
	for _, m := range after.Status.MemberStatuses {
		n.Logf("member %s: database of %d bytes, before %d; defragmented at %s", m.Name, m.DBSize, largest[m.Name], m.DefragmentedAt.UTC().Format(time.TimeOnly))
		if m.Name == led {
			last = m.DefragmentedAt.Time
			if m.Role == v1beta2.MemberLeader {
				n.Errorf("member %s was defragmented as the leader", m.Name)
			}
		}
	}
	for _, m := range after.Status.MemberStatuses {
		if m.DefragmentedAt.After(last) {
			n.Errorf("member %s was defragmented after %s, which had led", m.Name, led)
		}
	}
	n.eventually("an event tells of each member", func(ctx context.Context) error {
		events, err := suite.Kubectl(ctx, "-n", n.name, "get", "events", "--field-selector=reason=DefragmentingMember", "-o", "custom-columns=:.related.name", "--no-headers")
		for name := range largest {
			if err == nil && !strings.Contains(events, name) {
				err = fmt.Errorf("none of member %s: %s", name, events)
			}
		}
		return err
	})
	n.patch(cluster, `{"spec":{"defragmentation":null}}`)
	n.ready(cluster)
}

// large complains until every database is told to be large, and notes how large.
func (n *namespaced) large(cluster string, sizes map[string]int64) error {
	for _, m := range n.cluster(cluster).Status.MemberStatuses {
		sizes[m.Name] = m.DBSize
		if m.DBSize < historyPieces*historyPiece {
			return fmt.Errorf("member %s has %d bytes", m.Name, m.DBSize)
		}
	}
	return nil
}

// smaller complains until every database is small after a defragmentation.
func (n *namespaced) smaller(cluster string) error {
	for _, m := range n.cluster(cluster).Status.MemberStatuses {
		if m.DefragmentedAt == nil || m.DBSize > historyPieces*historyPiece/2 {
			return fmt.Errorf("member %s has %d bytes, defragmented at %v", m.Name, m.DBSize, m.DefragmentedAt)
		}
	}
	return nil
}

// makesUpForAMissedRun has a schedule whose last run was missed, as where no operator ran for three minutes.
func (n *namespaced) makesUpForAMissedRun(cluster string) {
	n.Helper()
	traffic := n.traffic(cluster, nil)
	n.patch(cluster, `{"spec":{"defragmentation":{"schedule":"* * * * *"}}}`)
	n.ready(cluster)
	missed := time.Now().Add(-3 * time.Minute).UTC().Truncate(time.Second)
	n.kubectl("patch", "etcdcluster/"+cluster, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"defragmentation":{"lastScheduleTime":%q}}}`, missed.Format(time.RFC3339)))
	n.kubectl("annotate", "etcdcluster/"+cluster, "example.com/look=again")
	n.eventually("the run that was missed is made", func(context.Context) error {
		status := n.cluster(cluster).Status
		run := status.Defragmentation
		if run == nil || !run.LastScheduleTime.After(missed) {
			return fmt.Errorf("not since %+v", run)
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
	traffic.stop("a scheduled defragmentation").withoutMoreThan(n, leaderMoves)
}

// leader names the member that leads.
func (n *namespaced) leader(cluster string) string {
	n.Helper()
	for _, m := range n.cluster(cluster).Status.MemberStatuses {
		if m.Role == v1beta2.MemberLeader {
			return m.Name
		}
	}
	n.Fatalf("no leader in %s", cluster)
	return ""
}
