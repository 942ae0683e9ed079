package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// copiedBench is a pointBench whose archive is copied to the bucket "second", through a proxy that can be down.
type copiedBench struct {
	*pointBench
	down     atomic.Bool
	requests atomic.Int64
	second   v1beta2.Storage
	copies   objstore.Store // past the proxy
}

const copiedLag = 2 * time.Second

func newCopiedBench(t *testing.T) *copiedBench {
	c := &copiedBench{}
	newPointBenchOf(t, pointOptions{change: func(p *pointBench) {
		c.pointBench = p
		p.server.CreateBucket(t, "second")
		proxy := servers.NewFaulty(t, p.server.Endpoint, func(int, *http.Request) servers.Fault {
			c.requests.Add(1)
			if c.down.Load() {
				return servers.Unavailable
			}
			return servers.Served
		})
		kubetest.Create(p, p.secret("other", p.bucket.Data))
		c.second = v1beta2.Storage{S3: &v1beta2.S3Source{Path: "second/copies", AWSSecret: "other", Endpoint: p.server.Endpoint, ForcePathStyle: true}}
		through := c.second.DeepCopy()
		through.S3.Endpoint = proxy.URL
		p.series.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: *through}
		p.series.Spec.Continuous.MaxLag = copiedLag.String()
	}})
	c.copies = open(t, s3Location(c.server, "second"))
	return c
}

func (c *copiedBench) roots() (first, second string) {
	return c.archiveRoot("pit"), archive.Root("copies", c.namespace, "pit")
}

// copied waits for the condition ArchiveCopied.
func (c *copiedBench) copied(status metav1.ConditionStatus, reason string) {
	c.Helper()
	kubetest.AwaitCondition(c, c.series, backupConditions, v1beta2.ConditionArchiveCopied, status, reason)
}

// end returns the last revision of the archive in a store.
func (c *copiedBench) end(store objstore.Store, root string) int64 {
	c.Helper()
	newest, found, err := archive.NewestOf(c.Context(), store, root)
	if err != nil {
		c.Fatal(err)
	}
	if !found {
		return 0
	}
	start, err := archive.ReadStart(c.Context(), store, root, newest.Timeline)
	if err != nil {
		c.Fatal(err)
	}
	last, err := archive.EndOf(c.Context(), store, root, start, newest.Links)
	if err != nil {
		c.Fatal(err)
	}
	return max(last.Last, start.Base.Revision)
}

// acked has the times at which a client had acknowledged writes.
type acked struct {
	mu  sync.Mutex
	all []archive.Point
}

// write writes until ctx ends.
func (a *acked) write(ctx context.Context, p *pointBench) {
	for i := 0; ctx.Err() == nil; i++ {
		answer, err := p.kv.Put(ctx, fmt.Sprint("written/", i%100), fmt.Sprint("value ", i))
		if err != nil {
			continue
		}
		a.mu.Lock()
		a.all = append(a.all, archive.Point{Revision: answer.Header.Revision, At: time.Now()})
		a.mu.Unlock()
	}
}

// lag is the age of the oldest acknowledged write after a revision.
func (a *acked) lag(revision int64, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.all, func(p archive.Point) bool { return p.Revision > revision })
	if at < 0 {
		return 0
	}
	return now.Sub(a.all[at].At)
}

func (a *acked) last() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[len(a.all)-1].Revision
}

// longest looks at both locations for some time, and returns the longest lags that a client would see.
func (c *copiedBench) longest(a *acked, d time.Duration) (first, second time.Duration) {
	c.Helper()
	from, to := c.roots()
	backups := open(c.T, c.bucket)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(d); time.Now().Before(until); <-tick.C {
		now := time.Now() // before the locations are read
		first, second = max(first, a.lag(c.end(backups, from), now)), max(second, a.lag(c.end(c.copies, to), now))
	}
	return first, second
}

// same compares the links of both locations. What is not copied yet may be missing at the end.
func (c *copiedBench) same() {
	c.Helper()
	from, to := c.roots()
	names := func(store objstore.Store, root string) (names []string) {
		for o, err := range store.List(c.Context(), root) {
			if err != nil {
				c.Fatal(err)
			}
			names = append(names, fmt.Sprintf("%s (%d bytes)", strings.TrimPrefix(o.Key, root), o.Size))
		}
		return names
	}
	kubetest.Eventually(c, "both locations have the same objects", func(context.Context) error {
		first, second := names(open(c.T, c.bucket), from), names(c.copies, to)
		proofs := func(name string) bool { return strings.HasPrefix(name, "proofs/") } // their keys name snapshots
		if a, b := slices.DeleteFunc(first, proofs), slices.DeleteFunc(second, proofs); !slices.Equal(a, b) {
			return fmt.Errorf("the first has %d and the second %d:\n%q\n%q", len(a), len(b), a, b)
		}
		return nil
	})
}

// A region is lost. The other one has each change but for those of the last seconds, also after an outage of the second store.
func TestAPointIsRestoredFromTheSecondLocationOnly(t *testing.T) {
	t.Parallel()
	c := newCopiedBench(t)
	c.copied(metav1.ConditionTrue, v1beta2.ReasonCopied)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a := &acked{}
	var writer sync.WaitGroup
	writer.Go(func() { a.write(ctx, c.pointBench) })
	kubetest.Eventually(t, "there are writes", func(context.Context) error {
		if a.mu.Lock(); len(a.all) == 0 {
			a.mu.Unlock()
			return fmt.Errorf("none")
		}
		a.mu.Unlock()
		return nil
	})

	before := c.requests.Load()
	first, second := c.longest(a, 12*time.Second)
	t.Logf("while both are up, the first location is %s behind and the second one %s; it got %d requests in 12 s", first, second, c.requests.Load()-before)
	if second > 2*copiedLag {
		t.Errorf("the second location is %s behind, twice maxLag is %s", second, 2*copiedLag)
	}

	c.down.Store(true)
	c.copied(metav1.ConditionFalse, v1beta2.ReasonStoreUnavailable)
	first, second = c.longest(a, 8*time.Second)
	t.Logf("while the second location is down, the first one is %s behind and the second one %s", first, second)
	if first > copiedLag+time.Second || second < 8*time.Second {
		t.Errorf("the first location is %s behind, and the second one %s", first, second)
	}
	c.down.Store(false)
	back := time.Now()
	from, to := c.roots()
	kubetest.Eventually(t, "the second location has caught up", func(context.Context) error {
		if lag := a.lag(c.end(c.copies, to), time.Now()); lag > 2*copiedLag {
			return fmt.Errorf("it is %s behind", lag)
		}
		return nil
	})
	t.Logf("it has caught up %s after it was back", time.Since(back))
	c.copied(metav1.ConditionTrue, v1beta2.ReasonCopied)
	if _, second = c.longest(a, 6*time.Second); second > 2*copiedLag {
		t.Errorf("after the outage, the second location is %s behind", second)
	}

	stop()
	writer.Wait()
	revision := a.last()
	c.storedTo("pit", revision)
	c.same()
	if first, second := c.end(open(t, c.bucket), from), c.end(c.copies, to); first != second || first < revision {
		t.Errorf("the first location ends with revision %d, and the second one with %d", first, second)
	}
	before = c.requests.Load()
	c.longest(a, 6*time.Second)
	if n := c.requests.Load() - before; n > 0 {
		t.Errorf("an idle archive cost %d requests to the second location within 6 s", n)
	}
	kubetest.Await(t, c.series, "show what can be restored from the second location", func(backup *v1beta2.EtcdBackup) bool {
		r := backup.Status.Copies.Recoverable
		return len(r) == 1 && r[0].From.Revision == backup.Status.Recoverable[0].From.Revision
	})
	c.stop()
	if err := os.RemoveAll(c.server.BucketDir("backups")); err != nil {
		t.Fatal(err)
	}
	for name, point := range map[string]int64{"the-end": revision, "within": revision - 17} {
		r := c.restores.restore(name, "second/copies")
		r.Spec.Storage, r.Spec.Select = c.second, &v1beta2.SnapshotSelector{Revision: point}
		kubetest.Create(t, r)
		c.restores.await(r, v1beta2.ReasonWaitingForCluster)
		fetched, err := proof.FetchAgain(t.Context(), c.copies, r.Status.Source.Key, proof.Alone(t.TempDir()), nil, r.Status.Snapshot.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		c.compare(fetched.Path, c.hash(point), point)
	}
}
