package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// maxLag is that of a pointBench.
const maxLag = time.Second

// An uplink forwards requests to the store until it is cut. It records the longest write.
type uplink struct {
	*httptest.Server
	cut     atomic.Bool
	longest atomic.Int64 // nanoseconds
}

func newUplink(t *testing.T, target string) *uplink {
	u := &uplink{}
	proxy := servers.NewFaulty(t, target, func(int, *http.Request) servers.Fault {
		if u.cut.Load() {
			return servers.Denied
		}
		return servers.Served
	})
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		proxy.ServeHTTP(w, r)
		if took := int64(time.Since(began)); r.Method == http.MethodPut && took > u.longest.Load() {
			u.longest.Store(took)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

// A diary records what clients know of their writes.
type diary struct {
	mu    sync.Mutex
	acked map[string]time.Time
	// late is the longest delay of a timer meanwhile.
	late time.Duration
}

const (
	// busy is the delay of timers above which a machine cannot keep any promise about time.
	busy = 50 * time.Millisecond
	// attempts is how often a machine may be busy.
	attempts = 3
)

// watchTimers measures how late timers are, until ctx ends.
func (d *diary) watchTimers(ctx context.Context) {
	const tick = 10 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		select {
		case <-time.After(tick):
			d.late = max(d.late, time.Since(began)-tick)
		case <-ctx.Done():
		}
	}
}

// keep writes keys of one writer until the cluster is lost.
func (d *diary) keep(ctx context.Context, p *pointBench, writer int) {
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("acknowledged/%d/%d", writer, n)
		limited, cancel := context.WithTimeout(ctx, time.Second)
		_, err := p.kv.Put(limited, key, key)
		cancel()
		if err == nil {
			d.mu.Lock()
			d.acked[key] = time.Now()
			d.mu.Unlock()
		}
	}
}

// lose lets clients write. At a random time, it cuts the connection to the store, and removes all members with their
// data.
func (d *diary) lose(p *pointBench, u *uplink) (lost time.Time) {
	p.Helper()
	ctx, stop := context.WithCancel(p.Context())
	defer stop()
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() { d.keep(ctx, p, i) })
	}
	writers.Go(func() { d.watchTimers(ctx) })
	after := 3*maxLag + time.Duration(rand.Int64N(int64(3*maxLag))) // a test
	<-time.After(after)
	u.cut.Store(true) // backup-operator is lost, too: nothing that it still has reaches the store
	lost = time.Now()
	for _, member := range p.etcd.Members {
		member.Kill()
		if err := os.RemoveAll(member.DataDir); err != nil {
			p.Fatal(err)
		}
	}
	stop()
	writers.Wait()
	p.stop()
	u.cut.Store(false)
	p.Logf("the cluster was lost after %s with %d acknowledged writes, longest upload %s", after, len(d.acked), time.Duration(u.longest.Load()))
	return lost
}

// newest returns the last revision in the store.
func (p *pointBench) newest() (revision int64) {
	p.Helper()
	histories, err := archive.Read(p.Context(), open(p.T, p.bucket), p.archiveRoot("pit"))
	if err != nil {
		p.Fatal(err)
	}
	for _, l := range histories[len(histories)-1].Links {
		revision = max(revision, l.Header.Last)
	}
	return revision
}

func TestNoAcknowledgedWriteOlderThanMaxLagIsMissingAfterTheLossOfCluster(t *testing.T) {
	for minor, size := range map[string]int{"3.5": 1, "3.6": 3, "3.7": 1} {
		t.Run(fmt.Sprintf("etcd %s with %d members", minor, size), func(t *testing.T) {
			var err error
			for attempt := range attempts {
				var late time.Duration
				t.Run(fmt.Sprintf("attempt %d", attempt+1), func(t *testing.T) { late, err = loseAll(t, minor, size) })
				if err == nil || late < busy {
					break
				}
				t.Logf("timers were up to %s late, so the machine is busy, and the test is repeated: %v", late, err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// loseAll loses a cluster and restores it. It returns how late timers were.
func loseAll(t *testing.T, minor string, size int) (late time.Duration, err error) {
	var u *uplink
	p := newPointBenchOf(t, pointOptions{etcd: servers.EtcdOptions{Minor: minor, Size: size}, change: func(p *pointBench) {
		u = newUplink(p.T, p.server.Endpoint)
		p.series.Spec.S3.Endpoint = u.URL
	}})
	d := &diary{acked: map[string]time.Time{}}
	lost := d.lose(p, u)
	r := p.to("newest", v1beta2.SnapshotSelector{Revision: p.newest()})
	const token = "restored"
	peer, dir := servers.PeerURL(t), filepath.Join(t.TempDir(), "data")
	err = dbfile.Restore(t.Context(), dbfile.Options{SnapshotPath: p.restored(r, nil), DataDir: dir, Name: "m0", PeerURLs: []string{peer}, InitialCluster: "m0=" + peer, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	pairs, _ := servers.EtcdFromDataDir(t, minor, dir, "m0", peer, token).All(t)
	return d.late, d.compare(t, pairs, lost, maxLag+time.Duration(u.longest.Load()))
}

// compare returns an error if an acknowledged write is missing that was older than the bound when the cluster was lost.
func (d *diary) compare(t *testing.T, pairs map[string]string, lost time.Time, bound time.Duration) error {
	t.Helper()
	missing, oldest, tooOld := 0, time.Duration(0), 0
	for key, at := range d.acked {
		if pairs[key] == key {
			continue
		}
		missing++
		oldest = max(oldest, lost.Sub(at))
		if lost.Sub(at) > bound {
			tooOld++
		}
	}
	t.Logf("%d of %d acknowledged writes are missing, the oldest %s before the loss; the bound is %s", missing, len(d.acked), oldest, bound)
	if len(d.acked) < 100 || missing == len(d.acked) {
		t.Errorf("%d of %d acknowledged writes are missing: the test proves nothing", missing, len(d.acked))
	}
	if tooOld > 0 {
		return fmt.Errorf("%d missing writes were acknowledged more than %s before the loss, the oldest %s", tooOld, bound, oldest)
	}
	return nil
}
