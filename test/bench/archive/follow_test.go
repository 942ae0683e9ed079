package archive

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/mirror"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// BenchmarkFollow measures a standby: how fast it applies what the archive has, how far it is behind the source, what it asks the store for while nothing changes, and how long its
// promotion takes. It is compared with what people use instead: a mirror that copies each change into another etcd, as "etcdctl make-mirror" does, and the restore of a snapshot.
//
//	make bench-follow          # BENCH_MIB=2048 BENCH_REVISIONS=100000 BENCH_SECONDS=20 BENCH_RATE=1000
func BenchmarkFollow(b *testing.B) {
	mib, revisions := measure.Setting(b, "BENCH_MIB", 64), measure.Setting(b, "BENCH_REVISIONS", 100_000)
	rate, length := measure.Setting(b, "BENCH_RATE", 1000), time.Duration(measure.Setting(b, "BENCH_SECONDS", 20))*time.Second
	s := newStage(b, "--quota-backend-bytes=8589934592")
	measure.Fill(b, s.etcd.Members[0].ClientURL, mib, 16<<10)
	a := s.archive(1)
	base := filepath.Join(b.TempDir(), "base.db")
	s.save(base)
	f := s.follow(base)
	m := s.mirror(f.base)
	s.write(revisions)
	time.Sleep(2 * maxLag) // the archive has them then

	began := time.Now()
	f.until(s.head())
	applied := time.Since(began)
	began = time.Now()
	go m.run()
	m.until(s.head())
	mirrored := time.Since(began)
	b.Logf("%d revisions: applied in %s; mirrored in %s", revisions, applied, mirrored)
	b.ReportMetric(float64(revisions)/applied.Seconds(), "revisions/s")
	b.ReportMetric(mirrored.Seconds()/applied.Seconds(), "mirror/follow-time")

	reached := f.run()
	writes := s.timed(rate, length)
	f.await(writes[len(writes)-1].revision)
	for name, lags := range map[string][]time.Duration{"follow": lagsOf(writes, reached()), "mirror": lagsOf(writes, m.reached())} {
		b.Logf("lag of %s at %d writes/s: median %s, p99 %s", name, rate, lags[len(lags)/2], lags[len(lags)*99/100])
		b.ReportMetric(lags[len(lags)*99/100].Seconds(), "s-p99-lag-"+name)
	}
	a.end()
	before := s.requests.Load()
	time.Sleep(time.Minute)
	b.ReportMetric(float64(s.requests.Load()-before), "idle-requests/min")
	s.promote(f, filepath.Join(b.TempDir(), "snapshot.db"), mib)
}

// moment is when a revision was reached, or acknowledged.
type moment struct {
	revision int64
	at       time.Time
}

// lagsOf returns how long after its acknowledgement each write was reached, in ascending order.
func lagsOf(writes, reached []moment) (lags []time.Duration) {
	i := 0
	for _, w := range writes {
		for i < len(reached)-1 && reached[i].revision < w.revision {
			i++
		}
		lags = append(lags, max(0, reached[i].at.Sub(w.at)))
	}
	slices.Sort(lags)
	return lags
}

func (s *stage) head() int64 {
	s.Helper()
	return s.headOf(s.etcd.Members[0])
}

// headOf returns the revision of a member, confirmed by a quorum.
func (s *stage) headOf(m *servers.EtcdMember) int64 {
	s.Helper()
	kv, err := clientv3.New(clientv3.Config{Endpoints: []string{m.ClientURL}, Logger: zap.NewNop()})
	if err != nil {
		s.Fatal(err)
	}
	defer kv.Close()
	answer, err := kv.Get(s.Context(), "x")
	if err != nil {
		s.Fatal(err)
	}
	return answer.Header.Revision
}

// timed writes at a rate, and returns when each write was acknowledged.
func (s *stage) timed(rate int, length time.Duration) (writes []moment) {
	s.Helper()
	const writers = 16
	kv, err := clientv3.New(clientv3.Config{Endpoints: s.etcd.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		s.Fatal(err)
	}
	defer kv.Close()
	var mu sync.Mutex
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			ticks := time.NewTicker(time.Second * writers / time.Duration(rate))
			defer ticks.Stop()
			for end := time.Now().Add(length); time.Now().Before(end); <-ticks.C {
				answer, err := kv.Put(s.Context(), fmt.Sprintf("/registry/pods/%02d", w), fmt.Sprintf("%0256d", w))
				if err != nil {
					s.Error(err)
					return
				}
				mu.Lock()
				writes = append(writes, moment{answer.Header.Revision, time.Now()})
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.SortFunc(writes, func(a, b moment) int { return int(a.revision - b.revision) })
	return writes
}

// follower is a standby in this process.
type follower struct {
	stage   *stage
	base    int64
	options standby.Options
	*standby.Follower
	mu   sync.Mutex
	seen []moment
	end  func()
}

// follow opens a standby that begins with a base.
func (s *stage) follow(path string) *follower {
	s.Helper()
	info, err := dbfile.Inspect(path)
	if err != nil {
		s.Fatal(err)
	}
	f := &follower{stage: s, base: info.Revision}
	base := archive.Base{Key: path, ClusterID: s.clusterID(), Auth: s.auth(), Point: archive.Point{Revision: info.Revision, At: time.Now()}}
	store, root := s.open(), s.root()
	f.options = standby.Options{
		Dir: filepath.Join(s.TempDir(), "standby"), Store: store, Root: root, Now: time.Now,
		Find: func(ctx context.Context) (archive.Choice, error) {
			return standby.Newest(ctx, store, root, func(string) bool { return true }, []archive.Base{base}, nil)
		},
		Fetch:  func(_ context.Context, b archive.Base, to string) error { s.copy(b.Key, to); return nil },
		Report: f.report,
	}
	if f.Follower, err = standby.Open(f.options); err != nil {
		s.Fatal(err)
	}
	f.until(info.Revision)
	return f
}

func (f *follower) report(now standby.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, moment{now.Revision, time.Now()})
}

// until makes steps until a revision is reached.
func (f *follower) until(revision int64) {
	f.stage.Helper()
	for f.Status().Base == "" || f.Status().Revision < revision {
		if done, err := f.Step(f.stage.Context()); err != nil || done == standby.Idle {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// run follows until end is called, and returns what it reached when.
func (f *follower) run() (reached func() []moment) {
	ctx, cancel := context.WithCancel(f.stage.Context())
	ended := make(chan struct{})
	go func() { _ = f.Run(ctx); close(ended) }()
	f.end = func() { cancel(); <-ended }
	return func() []moment {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Clone(f.seen)
	}
}

func (f *follower) await(revision int64) {
	for f.Status().Revision < revision {
		time.Sleep(50 * time.Millisecond)
	}
}

// open opens the store through the proxy that counts requests.
func (s *stage) open() objstore.Store {
	s.Helper()
	store, err := connect.Open(s.Context(), connect.Access{
		Location: storage.Location{Provider: "S3", Bucket: "bench", Endpoint: s.proxy.URL, Region: s.server.Region, ForcePathStyle: true},
		Data:     map[string][]byte{"access-key-id": []byte(s.server.AccessKey), "secret-access-key": []byte(s.server.SecretKey)},
	})
	if err != nil {
		s.Fatal(err)
	}
	return store
}

// mirrored is another etcd that has each change of the first one, with revisions of its own.
type mirrored struct {
	stage    *stage
	from, to *clientv3.Client
	first    int64
	mu       sync.Mutex
	seen     []moment
}

func (s *stage) mirror(after int64) *mirrored {
	s.Helper()
	open := func(endpoints []string) *clientv3.Client {
		c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { _ = c.Close() })
		return c
	}
	return &mirrored{stage: s, from: open(s.etcd.Endpoints()), to: open(servers.Etcd(s.B, servers.EtcdOptions{}).Endpoints()), first: after}
}

// run copies each revision in one transaction, as etcdctl does.
func (m *mirrored) run() {
	ctx := m.stage.Context()
	for answer := range mirror.NewSyncer(m.from, "", m.first).SyncUpdates(ctx) {
		var ops []clientv3.Op
		revision := int64(0)
		commit := func() {
			if len(ops) > 0 {
				if _, err := m.to.Txn(ctx).Then(ops...).Commit(); err != nil {
					return
				}
				m.mu.Lock()
				m.seen = append(m.seen, moment{revision, time.Now()})
				m.mu.Unlock()
			}
			ops = nil
		}
		for _, e := range answer.Events {
			if e.Kv.ModRevision != revision {
				commit()
			}
			revision = e.Kv.ModRevision
			if e.Type == mvccpb.DELETE {
				ops = append(ops, clientv3.OpDelete(string(e.Kv.Key)))
			} else {
				ops = append(ops, clientv3.OpPut(string(e.Kv.Key), string(e.Kv.Value)))
			}
		}
		commit()
	}
}

func (m *mirrored) reached() []moment {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.seen)
}

func (m *mirrored) until(revision int64) {
	for {
		m.mu.Lock()
		done := len(m.seen) > 0 && m.seen[len(m.seen)-1].revision >= revision
		m.mu.Unlock()
		if done {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// promote measures the time from the end of the following until an etcd serves, and compares it with the restore of a snapshot of the source.
func (s *stage) promote(f *follower, snapshot string, mib int) {
	s.Helper()
	last := s.head()
	s.save(snapshot)
	f.end()
	if err := f.Close(); err != nil {
		s.Fatal(err)
	}
	volume := filepath.Dir(f.options.Dir)
	serve := func(name string, fill func(dbfile.Options) error) time.Duration {
		peer, data := servers.PeerURL(s.B), filepath.Join(volume, name)
		began := time.Now()
		err := fill(dbfile.Options{DataDir: data, Name: name, PeerURLs: []string{peer}, InitialCluster: name + "=" + peer, Token: name, Proven: true})
		if err != nil {
			s.Fatal(err)
		}
		member := servers.EtcdFromDataDir(s.B, "3.6", data, name, peer, name)
		took := time.Since(began)
		if revision := s.headOf(member); revision != last {
			s.Errorf("%s serves revision %d, and the source has %d", name, revision, last)
		}
		member.Stop()
		return took
	}
	promoted := serve("promoted", func(o dbfile.Options) error {
		o.SnapshotPath = filepath.Join(f.options.Dir, "promoted.db")
		f.options.Unsealed = true
		if _, err := standby.Finish(s.Context(), f.options, o.SnapshotPath); err != nil {
			return err
		}
		return dbfile.Adopt(s.Context(), o)
	})
	restored := serve("restored", func(o dbfile.Options) error {
		o.SnapshotPath = snapshot
		return dbfile.Restore(s.Context(), o)
	})
	s.Logf("%d MiB: promoted and served in %s; a snapshot that was there restored and served in %s", mib, promoted, restored)
	s.ReportMetric(promoted.Seconds(), fmt.Sprintf("s-promotion-%d-MiB", mib))
	s.ReportMetric(restored.Seconds()/promoted.Seconds(), "restore/promotion-time")
}
