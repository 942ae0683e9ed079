package archiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

const root = "continuous-archive/ns/name/"

// cluster is an etcd in memory. Its revision 1 is empty.
type cluster struct {
	mu        sync.Mutex
	id        uint64
	events    []*mvccpb.Event
	compacted int64
	auth      auth.State
	ttl       map[int64]int64
	changed   chan struct{} // closed by each change
	fragment  int           // events in one response; 0 for all
}

func newCluster() *cluster {
	return &cluster{id: 0xabc, auth: auth.State{Revision: 1, Enabled: auth.Off}, ttl: map[int64]int64{}, changed: make(chan struct{})}
}

func (c *cluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *cluster) last() int64 {
	if len(c.events) == 0 {
		return 1
	}
	return c.events[len(c.events)-1].Kv.ModRevision
}

// put writes one revision with the keys.
func (c *cluster) put(value string, keys ...string) {
	c.change(func() {
		revision := c.last() + 1
		for _, key := range keys {
			c.events = append(c.events, &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte(key), Value: []byte(value), ModRevision: revision, CreateRevision: revision, Version: 1}})
		}
	})
}

func (c *cluster) Head(context.Context) (Head, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Head{c.id, c.last()}, nil
}

func (c *cluster) Auth(_ context.Context, id uint64) (auth.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id != c.id {
		return auth.State{}, ErrOtherCluster
	}
	return c.auth, nil
}

func (c *cluster) TTL(_ context.Context, of uint64, id int64) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of != c.id {
		return 0, ErrOtherCluster
	}
	if ttl, ok := c.ttl[id]; ok {
		return ttl, nil
	}
	return 0, ErrNoLease
}

func (c *cluster) Watch(ctx context.Context, from int64) (Stream, error) {
	return &stream{c: c, ctx: ctx, next: from, from: from}, nil
}

type stream struct {
	c    *cluster
	ctx  context.Context
	next int64
	sent int // events of the revision next
	from int64
}

func (s *stream) Receive() (Response, error) {
	for {
		s.c.mu.Lock()
		response, ok := s.response()
		changed := s.c.changed
		s.c.mu.Unlock()
		if ok {
			return response, nil
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			return Response{}, s.ctx.Err()
		}
	}
}

func (s *stream) response() (Response, bool) {
	head := Head{s.c.id, s.c.last()}
	if s.next < s.c.compacted {
		return Response{Head: head, Compacted: s.c.compacted}, true
	}
	at := slices.IndexFunc(s.c.events, func(e *mvccpb.Event) bool {
		// etcd issue 19179: a watch from the compacted revision does not return its deletions
		lost := e.Type == mvccpb.Event_DELETE && e.Kv.ModRevision == s.from && s.from == s.c.compacted
		return e.Kv.ModRevision >= s.next && !lost
	})
	if at < 0 || at+s.sent >= len(s.c.events) {
		return Response{}, false
	}
	events := s.c.events[at+s.sent:]
	if n := s.c.fragment; n > 0 && len(events) > n {
		s.sent += n
		return Response{Head: head, Events: events[:n], More: true}, true
	}
	s.next, s.sent = s.c.last()+1, 0
	return Response{Head: head, Events: events}, true
}

// bench is a cluster, a store and what archivers do with them.
type bench struct {
	*testing.T
	*cluster
	store *counting
	mu    sync.Mutex
	bases []archive.Base
	why   []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{T: t, cluster: newCluster(), store: &counting{Store: store}}
}

// counting is a store that counts requests and can be made to fail.
type counting struct {
	objstore.Store
	mu       sync.Mutex
	requests int
	put      func(key string, put func() error) error // may be nil
	list     func()                                   // is called before the next list; may be nil
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

func (c *counting) Put(ctx context.Context, key string, body io.Reader) error {
	c.mu.Lock()
	c.requests++
	put := c.put
	c.mu.Unlock()
	if put == nil {
		return c.Store.Put(ctx, key, body)
	}
	return put(key, func() error { return c.Store.Put(ctx, key, body) })
}

func (c *counting) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	c.mu.Lock()
	list := c.list
	c.list = nil
	c.mu.Unlock()
	if list != nil {
		list()
	}
	return c.Store.List(ctx, prefix)
}

func (c *counting) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	c.mu.Lock()
	c.requests++
	c.mu.Unlock()
	return c.Store.Get(ctx, key)
}

func (b *bench) takeBase(_ context.Context, reason string) (Base, error) {
	b.cluster.mu.Lock()
	base := Base{Key: fmt.Sprint(len(b.bases)), ClusterID: b.id, Revision: b.last(), At: time.Now(), Auth: b.auth}
	b.cluster.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bases = append(b.bases, archive.Base{Key: base.Key, ClusterID: fmt.Sprintf("%016x", base.ClusterID), Point: archive.Point{Revision: base.Revision, At: base.At}, Auth: base.Auth})
	b.why = append(b.why, reason)
	return base, nil
}

func (b *bench) reasons() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.why)
}

// start runs an archiver until stop is called, which kills it and returns its error.
func (b *bench) start(change ...func(*Options)) (a *Archiver, stop func() error) {
	b.Helper()
	o := Options{
		Cluster: b.cluster, Store: b.store, Root: root, Dir: b.TempDir(), TakeBase: b.takeBase, Now: time.Now,
		MaxLag: 40 * time.Millisecond, RetryMin: time.Millisecond, RetryMax: 5 * time.Millisecond,
	}
	for _, f := range change {
		f(&o)
	}
	a = New(o)
	ctx, cancel := context.WithCancel(b.Context())
	result := make(chan error, 1)
	go func() { result <- a.Run(ctx) }()
	return a, func() error { cancel(); return <-result }
}

func (b *bench) await(what string, met func() bool) {
	b.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-deadline:
			b.Fatalf("it did not %s; bases: %q", what, b.reasons())
		}
	}
}

// archived runs an archiver until a revision is stored, and kills it.
func (b *bench) archived(revision int64, change ...func(*Options)) {
	b.Helper()
	a, stop := b.start(change...)
	b.await(fmt.Sprintf("store revision %d", revision), func() bool { return a.Status().Stored.Revision >= revision })
	_ = stop()
}

func (b *bench) histories() []archive.History {
	b.Helper()
	histories, err := archive.Read(b.Context(), b.store.Store, root)
	if err != nil {
		b.Fatal(err)
	}
	return histories
}

// wantEvents checks that the newest timeline has all events of the cluster after its base, once.
func (b *bench) wantEvents() {
	b.Helper()
	histories := b.histories()
	h := histories[len(histories)-1]
	var got []string
	chain := h.Start.Chain()
	for _, l := range h.Links {
		var err error
		if chain, err = chain.Follow(l.Key, l.Header); err != nil {
			b.Fatal(err)
		}
		if l.Header.Gap() {
			continue
		}
		got = append(got, b.events(l.Key)...)
	}
	var want []string
	for _, e := range b.cluster.events {
		if e.Kv.ModRevision > h.Start.Base.Revision {
			want = append(want, e.String())
		}
	}
	if !slices.Equal(got, want) {
		b.Errorf("got %d events, want %d:\n%q\n%q", len(got), len(want), got, want)
	}
}

func (b *bench) events(key string) (events []string) {
	b.Helper()
	r, err := archive.OpenSegment(b.Context(), b.store.Store, root, key)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	if err := r.Decode(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			b.Fatal(err)
		}
		events = append(events, e.String())
	}
}

func TestArchiverResumesWhereTheStoreEnds(t *testing.T) {
	b := newBench(t)
	b.put("1", "a")
	b.archived(2)
	for i := range 5 {
		b.put(fmt.Sprint(i), "a", "b")
		b.put(fmt.Sprint(i), "c")
		b.archived(int64(4 + 2*i))
	}
	b.wantEvents()
	if n := len(b.histories()); n != 1 {
		t.Errorf("%d timelines, want 1", n)
	}
	if got := b.reasons(); len(got) != 1 {
		t.Errorf("bases: %q, want only the first", got)
	}
}

func TestSegmentsAreCutOnlyBetweenRevisions(t *testing.T) {
	b := newBench(t)
	b.fragment = 3
	a, stop := b.start(func(o *Options) { o.MaxSize = 100 }) // about two events
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	for range 10 {
		b.put("value", "a", "b", "c", "d", "e", "f", "a")
	}
	b.await("store all", func() bool { return a.Status().Stored.Revision == 11 })
	_ = stop()
	b.wantEvents()
	if n := len(b.histories()[0].Links); n < 3 {
		t.Errorf("%d segments, want several", n)
	}
}

func TestAnIdleClusterCostsNoRequestToTheStore(t *testing.T) {
	b := newBench(t)
	a, stop := b.start()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	b.await("store the revision", func() bool { return a.Status().Stored.Revision == 2 })
	before, since := b.store.count(), a.Status().Progress.At
	b.await("move its progress", func() bool { return a.Status().Progress.At.Sub(since) > 300*time.Millisecond })
	if n := b.store.count() - before; n != 0 {
		t.Errorf("%d requests to the store", n)
	}
	_ = stop()
}

func TestTheSecondOfTwoArchiversIsFenced(t *testing.T) {
	b := newBench(t)
	b.put("1", "a")
	b.archived(1)
	slow := make(chan struct{})
	b.store.put = func(_ string, put func() error) error { // the first segment of the first archiver waits
		b.store.mu.Lock()
		b.store.put = nil
		b.store.mu.Unlock()
		<-slow
		return put()
	}
	first, stopFirst := b.start()
	b.await("begin", func() bool { return first.Status().Timeline == 1 })
	b.put("2", "a")
	b.await("reach the store", func() bool { b.store.mu.Lock(); defer b.store.mu.Unlock(); return b.store.put == nil })
	second, stopSecond := b.start()
	b.put("3", "a")
	b.await("store by the second archiver", func() bool { return second.Status().Stored.Revision == 4 })
	close(slow)
	b.put("4", "a")
	b.await("store by the second archiver", func() bool { return second.Status().Stored.Revision == 5 })
	if err := stopFirst(); !errors.Is(err, ErrFenced) {
		t.Errorf("the first archiver ended with %v, want ErrFenced", err)
	}
	_ = stopSecond()
	b.wantEvents()
}

// TestAnArchiverThatStillRunsIsNoOlderHistory lets another archiver store a change while this one looks for the end of the archive: the
// previous process may still run. Without the check, a new timeline would begin. The changes before its snapshot could not be restored one
// by one.
func TestAnArchiverThatStillRunsIsNoOlderHistory(t *testing.T) {
	b := newBench(t)
	first, stopFirst := b.start()
	b.await("begin", func() bool { return first.Status().Timeline == 1 })
	b.put("1", "a")
	b.await("store", func() bool { return first.Status().Stored.Revision == 2 })
	b.store.mu.Lock()
	b.store.list = func() {
		b.put("2", "a")
		b.await("store by the first archiver", func() bool { return first.Status().Stored.Revision == 3 })
	}
	b.store.mu.Unlock()
	second, stopSecond := b.start()
	b.await("begin", func() bool { return second.Status().Timeline > 0 })
	_, _ = stopFirst(), stopSecond()
	if got := b.reasons(); len(got) != 1 || len(b.histories()) != 1 {
		t.Errorf("%d timelines, bases: %q", len(b.histories()), got)
	}
	b.wantEvents()
}

// TestATimelineWithoutItsStartIsNotContinued has a segment that reached the store after its timeline was deleted: the answer to its upload
// was lost. Without a new timeline nothing would be archived until a person moves the folder away.
func TestATimelineWithoutItsStartIsNotContinued(t *testing.T) {
	b := newBench(t)
	b.put("1", "a")
	b.archived(2)
	b.put("2", "a")
	b.archived(3)
	if err := b.store.Delete(t.Context(), archive.StartKey(root, 1)); err != nil {
		t.Fatal(err)
	}
	b.put("3", "a")
	a, stop := b.start()
	b.await("begin the next timeline", func() bool { return a.Status().Timeline == 2 })
	b.put("4", "a")
	b.await("store", func() bool { return a.Status().Stored.Revision == 5 })
	_ = stop()
	survey, err := archive.Look(t.Context(), b.store.Store, root, b.bases, 10)
	if err != nil || !survey.Covered || len(survey.Ranges) != 1 || survey.Ranges[0].To.Revision != 5 || !slices.Equal(survey.Startless, []archive.Timeline{1}) {
		t.Errorf("the survey is %+v, error %v", survey, err)
	}
	if c, err := archive.Find(t.Context(), b.store.Store, root, b.bases, archive.Progress{}, archive.Target{Revision: 5}); err != nil || c.Timeline != 2 {
		t.Errorf("revision 5 is restored from timeline %d, error %v", c.Timeline, err)
	}
}

func TestALostAnswerOfTheStoreIsNotTakenForAnotherArchiver(t *testing.T) {
	b := newBench(t)
	b.archived(1)
	lost := 0
	b.store.put = func(_ string, put func() error) error {
		if err := put(); err != nil || lost >= 3 {
			return err
		}
		lost++
		return errors.New("the answer is lost")
	}
	a, stop := b.start()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	for i := range 4 {
		b.put("1", "a")
		b.await("store", func() bool { return a.Status().Stored.Revision == int64(2+i) })
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b.wantEvents()
}

func TestCompactionBeyondTheArchiveIsRecordedAsAGapWithANewBase(t *testing.T) {
	b := newBench(t)
	b.put("1", "a")
	b.archived(1)
	b.put("2", "a")
	b.archived(3)
	for range 5 {
		b.put("3", "a")
	}
	b.change(func() { b.compacted = 6 })
	b.archived(8)
	b.put("4", "b")
	b.archived(9)
	h := b.histories()[0]
	var gaps []archive.Header
	for _, l := range h.Links {
		if l.Header.Gap() {
			gaps = append(gaps, l.Header)
		}
	}
	if len(gaps) != 1 || gaps[0].First != 4 || gaps[0].Last != 8 {
		t.Errorf("got the gaps %+v, want 4 to 8", gaps)
	}
	ranges := archive.Recoverable([]archive.History{h}, b.bases)
	if len(ranges) != 2 || ranges[0].To.Revision != 3 || ranges[1].From.Revision != 8 || ranges[1].To.Revision != 9 {
		t.Errorf("got the ranges %v", ranges)
	}
}

func TestANewHistoryBeginsATimeline(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *cluster)
		reason string
	}{
		"another cluster ID": {func(c *cluster) { c.id++ }, reasonCluster},
		"fewer revisions":    {func(c *cluster) { c.events = c.events[:2] }, reasonBehind},
		"other events in the last revision": {func(c *cluster) {
			c.events = slices.Clone(c.events)
			other := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("other"), ModRevision: c.last(), CreateRevision: c.last(), Version: 1}}
			c.events[len(c.events)-1] = other
		}, reasonDiverged},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.archived(1)
			a, stop := b.start()
			b.await("begin", func() bool { return a.Status().Timeline == 1 })
			for i := range 4 {
				b.put(fmt.Sprint(i), "a")
			}
			b.await("store", func() bool { return a.Status().Stored.Revision == 5 })
			_ = stop()
			b.change(func() { test.change(b.cluster) })
			b.put("later", "a")
			a, stop = b.start()
			b.await("begin a timeline", func() bool { return a.Status().Timeline == 2 })
			b.put("after", "a")
			b.await("store", func() bool { return a.Status().Stored.Revision == b.last() })
			_ = stop()
			if got := b.reasons(); len(got) != 2 || !strings.HasSuffix(got[1], test.reason) || b.histories()[1].Start.Lost {
				t.Errorf("bases: %q, want %q without lost changes", got, test.reason)
			}
			b.wantEvents()
		})
	}
}

// A recovered cluster keeps its ID, and may have the archive's last revision and last change, although earlier changes differ. Without
// a new timeline, the archive would mix two histories.
func TestEachRecoveryFromALostQuorumBeginsATimeline(t *testing.T) {
	b := newBench(t)
	for _, run := range []struct {
		recovery string
		timeline archive.Timeline
	}{{"", 1}, {"of Monday", 2}, {"of Monday", 2}, {"of Tuesday", 3}, {"of Tuesday", 3}} {
		a, stop := b.start(func(o *Options) { o.Recovery = run.recovery })
		b.await(fmt.Sprintf("continue timeline %d after the recovery %q", run.timeline, run.recovery), func() bool { return a.Status().Timeline == run.timeline })
		b.put("key", "a")
		b.await("store", func() bool { return a.Status().Stored.Revision == b.last() })
		_ = stop()
	}
	if got := b.reasons(); len(got) != 3 || !strings.HasSuffix(got[1], reasonRecovery+" (last recovery: of Monday)") || !strings.HasSuffix(got[2], reasonRecovery+" (last recovery: of Tuesday)") {
		t.Errorf("bases: %q", got)
	}
	b.wantEvents()
}

// The status of an EtcdCluster may be lost, and with it the last recovery. Snapshots that name no recovery are not bases of a timeline that names
// one.
func TestATimelineBeginsIfItsRecoveryIsNotKnownAnyMore(t *testing.T) {
	b := newBench(t)
	b.archived(1, func(o *Options) { o.Recovery = "of Monday" })
	a, stop := b.start()
	b.await("begin timeline 2", func() bool { return a.Status().Timeline == 2 })
	_ = stop()
	if got := b.reasons(); len(got) != 2 || !strings.HasSuffix(got[1], reasonForgotten) {
		t.Errorf("bases: %q", got)
	}
}

func TestAChangeOfUsersTakesABase(t *testing.T) {
	b := newBench(t)
	a, stop := b.start()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.change(func() { b.auth.Revision = 2 }) // in an idle cluster
	b.await("take a base", func() bool { return len(b.reasons()) == 2 })
	_ = stop()
	b.change(func() { b.auth.Revision = 3 }) // while no archiver runs
	b.put("1", "a")
	b.archived(2)
	if got := b.reasons(); len(got) < 3 || !strings.HasPrefix(got[1], reasonAuth) || !strings.HasPrefix(got[2], reasonAuth) || got[1] == got[2] {
		t.Errorf("bases: %q", got)
	}
}

func TestABaseAfterAChangeOfUsersDoesNotDelayTheArchive(t *testing.T) {
	b := newBench(t)
	taking, done := make(chan struct{}), make(chan struct{})
	first := true
	a, stop := b.start(func(o *Options) {
		o.TakeBase = func(ctx context.Context, reason string) (Base, error) {
			if !first {
				close(taking)
				<-done // a large snapshot
			}
			first = false
			return b.takeBase(ctx, reason)
		}
	})
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.change(func() { b.auth.Revision = 2 })
	<-taking
	b.put("1", "a")
	b.await("store what was written meanwhile", func() bool { return a.Status().Stored.Revision == b.last() })
	close(done)
	b.await("take the base", func() bool { return len(b.reasons()) == 2 })
	_ = stop()
}

func TestTheLagOfAnIdleClusterIsNotTheAgeOfItsLastChange(t *testing.T) {
	at := time.Now()
	s := Status{Stored: archive.Point{Revision: 5, At: at.Add(-time.Hour)}, Safe: at.Add(-3 * time.Second)}
	if lag := s.Lag(at); lag != 0 {
		t.Errorf("nothing waits, but the lag is %s", lag)
	}
	s.Received.Revision = 6
	if lag := s.Lag(at); lag != 3*time.Second {
		t.Errorf("the lag is %s, want 3s", lag)
	}
}

func TestTheTTLOfEachLeaseIsArchivedWithTheSegment(t *testing.T) {
	b := newBench(t)
	a, stop := b.start()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.change(func() {
		b.ttl[7] = 30
		for i, id := range []int64{7, 8, 7} {
			b.cluster.events = append(b.cluster.events, &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), ModRevision: int64(2 + i), Lease: id}})
		}
	})
	b.await("store", func() bool { return a.Status().Stored.Revision == 4 })
	_ = stop()
	var found []archive.Lease
	for _, l := range b.histories()[0].Links {
		r, err := archive.OpenSegment(t.Context(), b.store.Store, root, l.Key)
		if err == nil {
			err = r.Decode(t.Context(), nil)
		}
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		found = append(found, r.Leases...)
		_ = r.Close()
	}
	if !slices.Equal(found, []archive.Lease{{ID: 7, TTL: 30}}) || a.Status().UnknownLeases != 1 {
		t.Errorf("got %v and %d unknown", found, a.Status().UnknownLeases)
	}
}

func TestTheWatchWaitsWhileTheSpoolIsFullAndLosesNothing(t *testing.T) {
	b := newBench(t)
	b.archived(1)
	broken := true
	b.store.put = func(_ string, put func() error) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if broken {
			return errors.New("the store is down")
		}
		return put()
	}
	var dir string
	a, stop := b.start(func(o *Options) { o.MaxSize, o.MaxSpool, dir = 2000, 6000, o.Dir })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.change(func() { b.fragment = 2 })
	value := string(bytes.Repeat([]byte("v"), 1000))
	for range 60 {
		b.put(value, "a")
	}
	b.await("fill the spool", func() bool { return a.Status().Spooled > 6000 && a.Status().StoreError != nil })
	since := time.Now()
	b.await("wait", func() bool { return time.Since(since) > 300*time.Millisecond })
	if got := a.Status().Spooled; got > 12000 {
		t.Errorf("%d bytes are spooled", got)
	}
	b.mu.Lock()
	broken = false
	b.mu.Unlock()
	b.await("store all", func() bool { return a.Status().Stored.Revision == 61 })
	_ = stop()
	b.wantEvents()
	entries, err := fs.ReadDir(os.DirFS(dir), ".")
	if err != nil || len(entries) > 0 {
		t.Errorf("the spool has %v: %v", entries, err)
	}
}

// TestAnArchiveFromAClockThatIsAheadIsContinuedInTime lets an archiver on a node with the right clock continue after one whose clock was
// an hour ahead.
func TestAnArchiveFromAClockThatIsAheadIsContinuedInTime(t *testing.T) {
	b := newBench(t)
	b.archived(1)
	ahead := func(o *Options) { o.Now = func() time.Time { return time.Now().Add(time.Hour) } }
	a, stop := b.start(ahead)
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	b.await("store by the wrong clock", func() bool { return a.Status().Stored.Revision == 2 })
	_ = stop()

	broken := make(chan struct{})
	b.store.put = func(_ string, put func() error) error {
		select {
		case <-broken:
			return put()
		default:
			return errors.New("the store is down")
		}
	}
	a, stop = b.start()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("2", "a")
	b.await("try to store", func() bool { return a.Status().StoreError != nil })
	b.await("report its lag", func() bool { return a.Status().Lag(time.Now()) > 100*time.Millisecond })
	close(broken)
	b.await("store by the right clock", func() bool { return a.Status().Stored.Revision == 3 })
	if lag := a.Status().Lag(time.Now()); lag != 0 {
		t.Errorf("all is stored, but the lag is %s", lag)
	}
	_ = stop()
	b.wantEvents()
}

// TestADeletionAtTheCompactedRevisionIsNotMissed archives the first change after a base.
func TestADeletionAtTheCompactedRevisionIsNotMissed(t *testing.T) {
	b := newBench(t)
	b.archived(1)
	b.change(func() {
		b.cluster.events = append(b.cluster.events, &mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte("a"), ModRevision: 2}})
		b.compacted = 2
	})
	b.put("1", "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := New(Options{Cluster: b.cluster, Store: b.store, Root: root, Dir: t.TempDir(), TakeBase: b.takeBase, Now: time.Now, MaxLag: 40 * time.Millisecond})
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	select {
	case err := <-ended:
		t.Fatalf("the archiver ends, and would end again: %v", err)
	case <-b.gapStored(a):
	}
}

// TestACompactedDeletionIsNoOtherHistory compacts etcd to the last archived revision, which is a deletion. The archiver began a new
// timeline, and did not report that the changes before its snapshot were missing.
func TestACompactedDeletionIsNoOtherHistory(t *testing.T) {
	b := newBench(t)
	b.archived(1)
	a, stop := b.start()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.change(func() {
		b.cluster.events = append(b.cluster.events, &mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte("a"), ModRevision: 2}})
	})
	b.await("store the deletion", func() bool { return a.Status().Stored.Revision == 2 })
	_ = stop()
	b.change(func() { b.compacted = 2 })
	b.put("1", "a")
	a, stop = b.start()
	b.await("record a gap", func() bool { return a.Status().Gaps == 1 || a.Status().Timeline > 1 })
	_ = stop()
	if got := b.histories(); len(got) != 1 {
		t.Errorf("%d timelines, bases: %q", len(got), b.reasons())
	}
}

// TestARevisionThatEtcdHasCompactedInPartIsReportedAsLost compacts etcd to the last archived revision, which has a deletion and a put. etcd
// returns only the put. The archiver began a new timeline, and did not report that the changes before its snapshot were missing.
func TestARevisionThatEtcdHasCompactedInPartIsReportedAsLost(t *testing.T) {
	b := newBench(t)
	b.archived(1)
	a, stop := b.start()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.change(func() {
		for _, kind := range []mvccpb.Event_EventType{mvccpb.Event_DELETE, mvccpb.Event_PUT} {
			key := []byte(kind.String())
			b.cluster.events = append(b.cluster.events, &mvccpb.Event{Type: kind, Kv: &mvccpb.KeyValue{Key: key, ModRevision: 2, CreateRevision: 2, Version: 1}})
		}
	})
	b.await("store the revision", func() bool { return a.Status().Stored.Revision == 2 })
	_ = stop()
	b.change(func() { b.compacted = 2 })
	b.put("1", "a")
	b.put("2", "a")
	a, stop = b.start()
	b.await("begin a timeline", func() bool { return a.Status().Timeline == 2 })
	b.put("3", "a")
	b.await("store", func() bool { return a.Status().Stored.Revision == b.last() })
	gaps := a.Status().Gaps
	_ = stop()
	histories := b.histories()
	if gaps != 1 || len(histories) != 2 || !histories[1].Start.Lost {
		t.Errorf("%d gaps, want 1; bases: %q", gaps, b.reasons())
	}
	if ranges := archive.Recoverable(histories, b.bases); len(ranges) != 2 || ranges[0].Lost || !ranges[1].Lost {
		t.Errorf("the ranges are %+v, want that of the second timeline to name the loss", ranges)
	}
	b.wantEvents()
}

// gapStored is closed when a gap is recorded.
func (b *bench) gapStored(a *Archiver) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for a.Status().Gaps == 0 {
			select {
			case <-tick.C:
			case <-b.Context().Done():
				return
			}
		}
	}()
	return done
}

// While members restart, the archiver begins again, and clients continue to write. What they wrote until then waited for maxLag once more, so a user
// who lost the cluster then lost up to twice what maxLag promises.
func TestWhatWasWrittenBeforeAnArchiverBeginsIsStoredAtOnce(t *testing.T) {
	b := newBench(t)
	long := func(o *Options) { o.MaxLag = time.Hour }
	b.archived(b.last(), long)
	b.put("missed", "a", "b")
	b.put("missed", "c")
	a, stop := b.start(long)
	b.await("the changes from before are stored", func() bool { return a.Status().Stored.Revision == b.last() })
	objects := b.store.count()
	b.put("later", "d")
	b.await("a later change is received", func() bool { return a.Status().Received.Revision == b.last() })
	if n := b.store.count() - objects; n > 0 {
		t.Errorf("a later change was stored %d times before it was due", n)
	}
	_ = stop()
	b.wantEvents()
}
