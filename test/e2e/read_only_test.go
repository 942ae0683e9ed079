package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// A read-only cluster takes no write while it loses a member, is scaled, upgraded, saved and restored. It serves reads through the client Service
// all the time. Without that, people copy a cluster that still changes, or their clients lose their reads for it.
func TestAReadOnlyClusterServesReadsAndTakesNoWrite(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(three)
	n.ready("three")
	etcd := n.etcd("three", nil)
	n.put(etcd, "key", 20)

	n.setReadOnly(true)
	last := n.refuses(etcd, 0)
	reads := n.reads("three")
	n.kubectl("delete", "pod", n.cluster("three").Status.Members.Ready[0], "--wait=false")
	n.ready("three")
	n.kubectl("patch", "etcdcluster/three", "--type=merge", "-p", `{"spec":{"version":"3.7.3"}}`)
	n.eventually("the members run 3.7.3", func(context.Context) error {
		if is := n.cluster("three").Status.CurrentVersion; is != "3.7.3" {
			return fmt.Errorf("they run %s", is)
		}
		return nil
	})
	n.ready("three")
	n.refuses(etcd, last)
	path := stack.Bucket + "/" + n.name + "/frozen.db"
	n.apply(s3Backup("frozen", ofCluster("three"), path))
	if saved := becomes(n, &v1beta2.EtcdBackup{}, "frozen", v1beta2.ConditionComplete); saved.Status.Snapshot.Revision != last {
		t.Errorf("the snapshot has revision %d, but the last one is %d", saved.Status.Snapshot.Revision, last)
	}
	reads.end(t)

	n.apply(s3Restore("back", "three", path))
	becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	n.ready("three")
	restored := n.etcd("three", nil)
	n.refuses(restored, 0)
	n.has(restored, "key", 20)

	n.setReadOnly(false)
	n.put(restored, "after", 5)
	n.has(restored, "after", 5)
	if c := meta.FindStatusCondition(n.ready("three").Status.Conditions, v1beta2.ConditionReadOnly); c != nil {
		t.Errorf("the cluster accepts writes, and has the condition %+v", *c)
	}
}

func (n *namespaced) setReadOnly(readOnly bool) {
	n.Helper()
	n.kubectl("patch", "etcdcluster/three", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"readOnly":%t}}`, readOnly))
	n.eventually("the condition ReadOnly", func(context.Context) error {
		cluster := n.cluster("three")
		if is := meta.IsStatusConditionTrue(cluster.Status.Conditions, v1beta2.ConditionReadOnly); is != readOnly || cluster.Status.ObservedGeneration != cluster.Generation {
			return fmt.Errorf("read-only: %t: %+v", is, cluster.Status.Conditions)
		}
		return nil
	})
}

// refuses checks that etcd refuses a write, and that the status names the last revision. It returns that.
func (n *namespaced) refuses(etcd *clientv3.Client, want int64) int64 {
	n.Helper()
	n.eventuallyQuiet(func(ctx context.Context) error {
		_, err := etcd.Put(ctx, "refused", "")
		if err != nil && strings.Contains(err.Error(), "corrupt cluster") {
			return nil
		}
		if err == nil {
			n.Fatal("etcd acknowledged a write of a read-only cluster")
		}
		return err
	})
	var now int64
	n.eventuallyQuiet(func(ctx context.Context) error {
		answer, err := etcd.Get(ctx, "key-0")
		if err == nil {
			now = answer.Header.Revision
		}
		return err
	})
	last := n.cluster("three").Status.LastRevision
	if last != now || (want != 0 && last != want) {
		n.Errorf("the status has the last revision %d, etcd has %d, and before it was %d", last, now, want)
	}
	return last
}

// reading counts reads over new connections that failed.
type reading struct {
	stop            context.CancelFunc
	done            chan struct{}
	tried, failed   int
	longest, outage time.Duration
	last            error
}

// reads opens a connection to the client Service and reads by it, until end.
func (n *namespaced) reads(cluster string) *reading {
	ctx, cancel := context.WithCancel(n.Context())
	r := &reading{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for ctx.Err() == nil {
			began := time.Now()
			err := n.readOnce(ctx, cluster)
			if ctx.Err() != nil {
				return
			}
			r.tried++
			if err != nil {
				r.failed, r.last = r.failed+1, err
				r.outage += time.Since(began)
			} else {
				r.longest, r.outage = max(r.longest, r.outage), 0
			}
			pause(ctx)
		}
	}()
	n.Cleanup(func() { cancel(); <-r.done })
	return r
}

func pause(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	<-limited.Done()
}

func (n *namespaced) readOnce(ctx context.Context, cluster string) error {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	etcd, err := suite.Etcd(limited, n.name, cluster, nil)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = etcd.Close() }()
	answer, err := etcd.Get(limited, "key-0")
	if err == nil && len(answer.Kvs) != 1 {
		return errors.New("key-0 is missing")
	}
	return err
}

// end stops the reads. While a member restarts, a few connections may fail.
func (r *reading) end(t *testing.T) {
	t.Helper()
	r.stop()
	<-r.done
	t.Logf("%d of %d reads over new connections failed, the longest outage was %s; last: %v", r.failed, r.tried, r.longest, r.last)
	if r.tried < 20 || r.longest > 5*time.Second {
		t.Errorf("a read-only cluster did not serve reads for %s (%d of %d failed): %v", r.longest, r.failed, r.tried, r.last)
	}
}
