package archiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// mortal is a cluster whose members can be stopped permanently.
type mortal struct {
	*cluster
	dead  chan struct{}
	asked *atomic.Int32 // how often the members were asked for their head after they had stopped
}

func (b *bench) mortal() mortal { return mortal{b.cluster, make(chan struct{}), new(atomic.Int32)} }

func (m mortal) lost() error {
	select {
	case <-m.dead:
		return errors.New("no member answers")
	default:
		return nil
	}
}

func (m mortal) Head(ctx context.Context) (Head, error) {
	if err := m.lost(); err != nil {
		m.asked.Add(1)
		return Head{}, err
	}
	return m.cluster.Head(ctx)
}

func (m mortal) Auth(ctx context.Context, id uint64) (auth.State, error) {
	if err := m.lost(); err != nil {
		return auth.State{}, err
	}
	return m.cluster.Auth(ctx, id)
}

func (m mortal) Watch(ctx context.Context, from int64) (Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-m.dead:
		case <-ctx.Done():
		}
	}()
	s, err := m.cluster.Watch(ctx, from)
	return mortalStream{s, m}, err
}

type mortalStream struct {
	Stream
	m mortal
}

func (s mortalStream) Receive() (Response, error) {
	r, err := s.Stream.Receive()
	return r, errors.Join(err, s.m.lost())
}

// received starts an archiver that would seal its segment only after an hour, and waits until it has received a revision.
func (b *bench) received(m mortal, change ...func(*Options)) (a *Archiver, stop func() error) {
	b.Helper()
	a, stop = b.start(append([]func(*Options){func(o *Options) { o.Cluster, o.MaxLag = m, time.Hour }}, change...)...)
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	b.put("2", "a")
	b.await("receive", func() bool { return a.Status().Received.Revision == 3 })
	return a, stop
}

func TestWhatWasReceivedIsStoredWhenTheClusterIsLost(t *testing.T) {
	b := newBench(t)
	m := b.mortal()
	a, stop := b.received(m)
	close(m.dead)
	b.await("store what it had received", func() bool { return a.Status().Stored.Revision == 3 })
	if err := stop(); err == nil {
		t.Error("the archiver did not report that no member answers")
	}
	b.wantEvents()
}

func TestWhatWaitsForTheStoreIsKeptWhenTheClusterIsLost(t *testing.T) {
	b := newBench(t)
	m := b.mortal()
	var down atomic.Bool
	b.store.put = func(_ string, put func() error) error {
		if down.Load() {
			return errors.New("the store is down")
		}
		return put()
	}
	a, stop := b.received(m)
	down.Store(true)
	close(m.dead)
	b.await("try to store", func() bool { return a.Status().StoreError != nil })
	asked := m.asked.Load()
	b.await("ask the members, again and again", func() bool { return m.asked.Load() >= asked+2 })
	down.Store(false)
	b.await("store it later", func() bool { return a.Status().Stored.Revision == 3 })
	_ = stop()
	b.wantEvents()
}

// A recovered cluster may have other changes at the same revisions. So the spool may have the only copy of the changes that wait for
// the store.
func TestWhatWaitsForTheStoreIsKeptWhenTheClusterIsRecovered(t *testing.T) {
	b := newBench(t)
	var down atomic.Bool
	b.store.put = func(_ string, put func() error) error {
		if down.Load() {
			return errors.New("the store is down")
		}
		return put()
	}
	hurry := make(chan struct{})
	ctx, stop := context.WithCancelCause(t.Context())
	a := New(Options{
		Cluster: b.mortal(), Store: b.store, Root: root, Dir: t.TempDir(), TakeBase: b.takeBase, Now: time.Now, MaxLag: time.Hour,
		RetryMin: time.Millisecond, RetryMax: time.Millisecond, Hurry: hurry,
	})
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	b.await("receive", func() bool { return a.Status().Received.Revision == 2 })
	down.Store(true)
	stop(ErrRecovery)
	select {
	case <-ended:
		t.Fatal("the archiver has thrown away a change that only it has")
	case <-time.After(stopTimeout + time.Second):
	}
	down.Store(false)
	b.await("store it later", func() bool { return a.Status().Stored.Revision == 2 })
	if err := <-ended; !errors.Is(err, ErrRecovery) {
		t.Errorf("it ends with %v", err)
	}
	b.wantEvents()
}

func TestWhatTheClusterStillHasIsNotWaitedFor(t *testing.T) {
	b := newBench(t)
	m := b.mortal()
	b.store.put = func(key string, put func() error) error {
		if filepath.Ext(key) == ".segment" {
			return errors.New("the store is down")
		}
		return put()
	}
	ended := make(chan error, 1)
	o := Options{Cluster: watchOnly{m}, Store: b.store, Root: root, Dir: t.TempDir(), TakeBase: b.takeBase, Now: time.Now, MaxLag: time.Hour, RetryMin: time.Millisecond, RetryMax: time.Millisecond}
	a := New(o)
	go func() { ended <- a.Run(t.Context()) }()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	b.await("receive", func() bool { return a.Status().Received.Revision == 2 })
	close(m.dead)
	select {
	case <-ended:
	case <-time.After(drainGrace + 10*time.Second):
		t.Error("the archiver waits for the store, but the members answer and have the changes")
	}
}

// The survivor of a lost quorum may reach the same revision with other changes before the recovery reaches this archiver.
func TestWhatWaitsForTheStoreIsKeptWhenTheClusterHasAnotherHistory(t *testing.T) {
	b := newBench(t)
	m := b.mortal()
	var down atomic.Bool
	b.store.put = func(_ string, put func() error) error {
		if down.Load() {
			return errors.New("the store is down")
		}
		return put()
	}
	confirmed := make(chan struct{}, 100)
	a, stop := b.received(m, func(o *Options) {
		o.SameHistory = func(context.Context) error { confirmed <- struct{}{}; return errors.New("it was recovered") }
	}, func(o *Options) { o.Cluster = watchOnly{m} })
	down.Store(true)
	close(m.dead)
	for range 2 {
		<-confirmed
	}
	down.Store(false)
	b.await("store it later", func() bool { return a.Status().Stored.Revision == 3 })
	_ = stop()
}

// etcd may be compacted while changes wait for the store. If a watch is lost then, no session can read them again, although the members are
// not behind. The archiver recorded a gap and discarded the changes that only the spool had.
func TestWhatEtcdHasCompactedIsKeptUntilTheStoreHasIt(t *testing.T) {
	b := newBench(t)
	m := b.mortal()
	var down atomic.Bool
	b.store.put = func(_ string, put func() error) error {
		if down.Load() {
			return errors.New("the store is down")
		}
		return put()
	}
	a, stop := b.start(func(o *Options) { o.Cluster = reconnecting{m} })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	down.Store(true)
	for i := range 4 {
		b.put(fmt.Sprint(i), "a")
	}
	b.await("try to store", func() bool { return a.Status().Received.Revision == 5 && a.Status().StoreError != nil })
	b.change(func() { b.compacted = 4 })
	close(m.dead)
	b.await("ask the members, again and again", func() bool { return m.asked.Load() >= 3 })
	down.Store(false)
	b.await("store it later", func() bool { return a.Status().Stored.Revision == 5 || a.Status().Gaps > 0 })
	_ = stop()
	if gaps := a.Status().Gaps; gaps > 0 {
		t.Errorf("%d gaps, bases: %q", gaps, b.reasons())
	}
	b.wantEvents()
}

// reconnecting loses the watch that is open, and can open another one.
type reconnecting struct{ mortal }

func (r reconnecting) Head(ctx context.Context) (Head, error) {
	if r.lost() != nil {
		r.asked.Add(1)
	}
	return r.cluster.Head(ctx)
}

func (r reconnecting) Auth(ctx context.Context, id uint64) (auth.State, error) {
	return r.cluster.Auth(ctx, id)
}

func (r reconnecting) Watch(ctx context.Context, from int64) (Stream, error) {
	if r.lost() != nil {
		return r.cluster.Watch(ctx, from)
	}
	return r.mortal.Watch(ctx, from)
}

// The cluster does not have these changes any more. An archiver that was stopped at that time discarded them immediately. An upgrade
// of the operator during a failure of the store was enough.
func TestWhatOnlyTheSpoolHasIsStoredWhenTheArchiverIsStopped(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*bench)
		cause  error
	}{
		"etcd was compacted":                     {func(b *bench) { b.change(func() { b.compacted = 10 }) }, nil},
		"the cluster was restored":               {func(b *bench) { b.change(func() { b.id++ }); b.put("of another cluster", "a") }, nil},
		"the cluster lost data and is recovered": {func(b *bench) { b.change(func() { b.compacted = 10 }) }, ErrRecovery},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var down atomic.Bool
			b.store.put = func(_ string, put func() error) error {
				if down.Load() {
					return errors.New("the store is down")
				}
				return put()
			}
			ctx, stop := context.WithCancelCause(t.Context())
			a := New(Options{
				Cluster: b.cluster, Store: b.store, Root: root, Dir: t.TempDir(), Now: time.Now, MaxLag: time.Hour,
				RetryMin: time.Millisecond, RetryMax: time.Millisecond, Hurry: make(chan struct{}),
				TakeBase: func(ctx context.Context, reason string) (Base, error) {
					if ctx.Err() != nil {
						return Base{}, context.Cause(ctx)
					}
					return b.takeBase(ctx, reason)
				},
			})
			ended := make(chan error, 1)
			go func() { ended <- a.Run(ctx) }()
			b.await("begin", func() bool { return a.Status().Timeline == 1 })
			b.put("1", "a")
			b.await("receive", func() bool { return a.Status().Received.Revision == 2 })
			down.Store(true)
			test.change(b)
			b.await("try to store", func() bool { return a.Status().StoreError != nil })
			stop(test.cause)
			wait := time.Second
			if test.cause != nil {
				wait += stopTimeout
			}
			select {
			case <-ended:
				t.Fatal("the archiver has thrown away a change that only it has")
			case <-time.After(wait):
			}
			down.Store(false)
			<-ended
			if links := b.histories()[0].Links; len(links) != 1 || links[0].Header.Last != 2 {
				t.Errorf("the archive has the links %+v, want one up to revision 2", links)
			}
		})
	}
}

// watchOnly loses only its watches.
type watchOnly struct{ mortal }

func (w watchOnly) Head(ctx context.Context) (Head, error) { return w.cluster.Head(ctx) }

func TestWhatWasReceivedIsStoredWhenTheArchiverIsStopped(t *testing.T) {
	b := newBench(t)
	m := b.mortal()
	a, stop := b.received(m)
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if got := a.Status().Stored.Revision; got != 3 {
		t.Errorf("revision %d is stored, want 3", got)
	}
	b.wantEvents()
}

func TestARevisionThatWasReceivedInPartIsNotStored(t *testing.T) {
	b := newBench(t)
	b.fragment = 2
	m := b.mortal()
	a, stop := b.start(func(o *Options) { o.Cluster, o.MaxLag = halting{m}, time.Hour })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a", "b", "c", "d", "e")
	b.await("receive a part", func() bool { names, _ := filepath.Glob(filepath.Join(a.Dir, openPattern)); return len(names) == 1 })
	_ = stop()
	if names, _ := os.ReadDir(a.Dir); len(names) > 0 {
		t.Errorf("the spool has %v", names)
	}
	b.archived(2)
	b.wantEvents()
}

// halting sends one part of a revision and then nothing more.
type halting struct{ mortal }

func (h halting) Watch(ctx context.Context, from int64) (Stream, error) {
	s, err := h.mortal.Watch(ctx, from)
	return &haltingStream{Stream: s, ctx: ctx}, err
}

type haltingStream struct {
	Stream
	ctx  context.Context
	sent bool
}

func (s *haltingStream) Receive() (Response, error) {
	if s.sent {
		<-s.ctx.Done()
		return Response{}, s.ctx.Err()
	}
	r, err := s.Stream.Receive()
	s.sent = r.More
	return r, err
}

// TestAnArchiverWithAFullQueueCanBeStopped fills the queue of small segments while the store is down.
func TestAnArchiverWithAFullQueueCanBeStopped(t *testing.T) {
	b := newBench(t)
	a := New(Options{Store: b.store, Root: root, Dir: t.TempDir(), Now: time.Now, RetryMin: time.Millisecond, RetryMax: time.Millisecond})
	b.store.put = func(string, func() error) error { return errors.New("the store is down") }
	ctx, cancel := context.WithCancel(t.Context())
	u := a.startUploader(ctx)
	u.queue <- &sealed{path: filepath.Join(a.Dir, "missing")}
	b.await("take the first segment", func() bool { return a.Status().StoreError != nil })
	for len(u.queue) < maxQueue {
		select {
		case u.queue <- &sealed{path: filepath.Join(a.Dir, "missing")}:
		case <-time.After(time.Second):
		}
	}
	cancel()
	<-u.done
	ended := make(chan error, 1)
	go func() { ended <- u.push(context.Background(), &sealed{}) }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a segment was accepted by an uploader that has ended")
		}
	case <-time.After(10 * time.Second):
		t.Error("the archiver waits forever for an uploader that has ended")
	}
}

// TestASkippedRevisionIsNoDamageOfTheArchive lets a watch skip the first revision after what is archived.
func TestASkippedRevisionIsNoDamageOfTheArchive(t *testing.T) {
	b := newBench(t)
	b.archived(1)
	b.put("1", "a")
	b.put("2", "a")
	b.change(func() { b.cluster.events = b.cluster.events[1:] })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	a := New(Options{Cluster: b.cluster, Store: b.store, Root: root, Dir: t.TempDir(), TakeBase: b.takeBase, Now: time.Now, MaxLag: 40 * time.Millisecond})
	if err := a.Run(ctx); !errors.Is(err, archive.ErrOrder) || errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("it ended with %v", err)
	}
}

// mute is a cluster that stops reporting its auth revision once a flag is set.
type mute struct {
	*cluster
	silent *atomic.Bool
}

func (m mute) Auth(ctx context.Context, id uint64) (auth.State, error) {
	if m.silent.Load() {
		return auth.State{}, errors.New("the leader has changed")
	}
	return m.cluster.Auth(ctx, id)
}

func TestAnUnknownAuthRevisionIsNoChangeOfUsers(t *testing.T) {
	b := newBench(t)
	m := mute{b.cluster, &atomic.Bool{}}
	a, stop := b.start(func(o *Options) { o.Cluster = m })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	m.silent.Store(true)
	b.put("1", "a")
	b.await("store what it has received", func() bool { return a.Status().Stored.Revision == 2 })
	if err := stop(); err == nil {
		t.Error("the archiver did not report the error")
	}
	for _, l := range b.histories()[0].Links {
		if l.Header.AuthFrom != 1 || l.Header.AuthTo != 1 {
			t.Errorf("the link has the auth revisions %d and %d, want 1", l.Header.AuthFrom, l.Header.AuthTo)
		}
	}
}

// TestAChangeOfUsersBeforeTheLastSegmentIsRecorded stops the archiver between a change of users and the next cut, as an upgrade of the
// operator may. A restore of the later changes would bring the earlier users back without a warning.
func TestAChangeOfUsersBeforeTheLastSegmentIsRecorded(t *testing.T) {
	b := newBench(t)
	a, stop := b.start(func(o *Options) { o.MaxLag = time.Hour })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	b.await("receive", func() bool { return a.Status().Received.Revision == 2 })
	b.change(func() { b.auth.Revision = 2 })
	b.put("2", "a")
	b.await("receive", func() bool { return a.Status().Received.Revision == 3 })
	_ = stop()
	c, err := archive.Select(b.histories(), b.bases, archive.Target{Revision: 3})
	if !archive.IsRefusal(err) {
		t.Errorf("revision 3 has other users, but a restore brings back those of base %s: %v", c.Base.Key, err)
	}
}
