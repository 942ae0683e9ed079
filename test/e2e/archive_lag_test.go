package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// archiveTransit is how long a segment may take to the store, with a second in which no member answers because they elect a leader.
const archiveTransit = 2 * time.Second

// authLimit is how long an archiver waits for the state of authentication before it stores the last changes without it.
const authLimit = 11 * time.Second

// beginLimit is how long another archiver may need to begin, after a restart of backup-operator or a restore.
const beginLimit = 5 * time.Second

// segments records when each segment of an archive was first in the store.
type segments struct {
	stopIt context.CancelFunc
	ended  sync.WaitGroup

	// One goroutine writes it; it is read after that ended.
	stored map[int64]time.Time // by the first revision of a segment
}

func (n *namespaced) watchSegments(root string) *segments {
	ctx, cancel := context.WithCancel(n.Context())
	s := &segments{stopIt: cancel, stored: map[int64]time.Time{}}
	s.ended.Go(func() { s.run(ctx, root) })
	n.Cleanup(s.end)
	return s
}

func (s *segments) end() {
	s.stopIt()
	s.ended.Wait()
}

func (s *segments) run(ctx context.Context, root string) {
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for ctx.Err() == nil {
		pages := s3.NewListObjectsV2Paginator(suite.s3, &s3.ListObjectsV2Input{Bucket: aws.String(stack.Bucket), Prefix: &root})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				break // the next poll lists again
			}
			for _, object := range page.Contents {
				s.note(*object.Key, time.Now())
			}
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		}
	}
}

func (s *segments) note(key string, now time.Time) {
	name, is := strings.CutSuffix(key[strings.LastIndex(key, "/")+1:], ".segment")
	first, err := strconv.ParseInt(strings.TrimLeft(name, "0"), 10, 64)
	if _, known := s.stored[first]; is && err == nil && !known {
		s.stored[first] = now
	}
}

// lags returns the longest time from the acknowledgement of a write to its segment in the store, for each operation. Each segment has the
// revisions before the first one of the next segment, so the writes in the last segment do not count.
func (s *segments) lags(writes []acknowledgement, operations []operation) map[string]time.Duration {
	firsts := slices.Sorted(maps.Keys(s.stored))
	longest := map[string]time.Duration{}
	for _, w := range writes {
		i, begins := slices.BinarySearch(firsts, w.revision)
		if !begins {
			i--
		}
		if i < 0 || i == len(firsts)-1 {
			continue
		}
		during := ""
		for _, o := range operations {
			if !w.at.Before(o.began) {
				during = o.name
			}
		}
		longest[during] = max(longest[during], s.stored[firsts[i]].Sub(w.at))
	}
	return longest
}

// operation is what happens to a cluster or to the operators while a client writes.
type operation struct {
	name string
	act  func(n *namespaced)
	// stops is how much longer writes may take if no member answers any more, and their volumes are kept, or if an archiver begins.
	stops time.Duration
	began time.Time
}

// archiveOperations are those during which the archive must follow. The cluster is "a".
func archiveOperations() []operation {
	changed := func(patch string) func(n *namespaced) {
		return func(n *namespaced) {
			before := n.cluster("a").Generation
			n.patch("a", patch)
			n.eventually("the operator has seen the change", func(context.Context) error {
				if c := n.cluster("a"); c.Status.ObservedGeneration <= before {
					return fmt.Errorf("generation %d", c.Status.ObservedGeneration)
				}
				return nil
			})
			n.ready("a")
		}
	}
	return []operation{
		{name: "nothing", act: func(*namespaced) { <-time.After(3 * archiveLag) }},
		{name: "a restart of all members", act: changed(`{"spec":{"pod":{"etcdEnv":[{"name":"ETCD_LOG_LEVEL","value":"warn"}]}}}`)},
		{name: "an upgrade", act: changed(`{"spec":{"version":"3.6.16"}}`)},
		{name: "growth to five members", act: changed(`{"spec":{"size":5}}`)},
		{name: "removal of two members", act: changed(`{"spec":{"size":3}}`)},
		{name: "the loss of a member", act: func(n *namespaced) {
			before, victim := memberIDs(n.cluster("a")), n.follower("a")
			n.kubectl("delete", "pvc", victim, "--wait=false")
			n.kubectl("delete", "pod", victim, "--force", "--grace-period=0")
			n.replaced("a", before, victim)
		}},
		{name: "a new Pod of backup-operator", stops: beginLimit, act: func(n *namespaced) {
			n.kubectl("-n", stack.Namespace, "rollout", "restart", "deployment/"+stack.Release+"-backup-operator")
			n.kubectl("-n", stack.Namespace, "rollout", "status", "deployment/"+stack.Release+"-backup-operator", "--timeout=2m")
			<-time.After(4 * archiveLag) // hibernation must not begin before the new process archives
		}},
		{name: "hibernation", stops: authLimit, act: func(n *namespaced) {
			n.patch("a", `{"spec":{"hibernate":true}}`)
			says(n, &v1beta2.EtcdCluster{}, "a", v1beta2.ConditionReady, v1beta2.ReasonHibernated)
			changed(`{"spec":{"hibernate":false}}`)(n)
		}},
		{name: "a restore", stops: authLimit, act: func(n *namespaced) {
			n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: back}
spec:
  etcdCluster: {name: a}
  etcdBackup: {name: archive}
`)
			becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
		}},
		{name: "the end", stops: beginLimit, act: func(*namespaced) { <-time.After(3 * archiveLag) }},
	}
}

// If this fails, a user who loses a whole cluster during an upgrade, a restart or the loss of a member loses more than maxLag promises. The
// times are those of a client, and not of the archiver.
func TestLongTheArchiveIsNeverFurtherBehindThanMaxLagDuringOperations(t *testing.T) {
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: a}
spec: {size: 3, version: "3.5.35"}
`)
	n.ready("a")
	n.apply(s3Backup("archive", ofCluster("a"), stack.Bucket+"/"+n.name+"/archive") + `
  backupPolicy: {schedule: "0 3 * * *"}
  continuous: {maxLag: 5s, window: 24h}
`)
	becomes(n, &v1beta2.EtcdBackup{}, "archive", v1beta2.ConditionArchiving)
	stored, traffic := n.watchSegments("continuous-archive/"+n.name+"/archive/"), n.traffic("a", nil)
	operations := archiveOperations()
	for i := range operations {
		operations[i].began = time.Now()
		operations[i].act(n)
		n.Logf("%s began after %s and took %s", operations[i].name, operations[i].began.Sub(operations[0].began).Round(10*time.Millisecond), time.Since(operations[i].began).Round(time.Second))
	}
	traffic.end()
	stored.end()
	lags := stored.lags(traffic.acknowledged, operations)
	for _, first := range slices.Sorted(maps.Keys(stored.stored)) {
		n.Logf("the segment from revision %d was in the store after %s", first, stored.stored[first].Sub(operations[0].began).Round(10*time.Millisecond))
	}
	for _, o := range operations {
		lag, measured := lags[o.name]
		n.Logf("during %s, a write was in the store after at most %s", o.name, lag.Round(10*time.Millisecond))
		if !measured || lag > archiveLag+archiveTransit+o.stops {
			n.Errorf("during %s, a write was in the store after %s, measured: %t", o.name, lag, measured)
		}
	}
}
