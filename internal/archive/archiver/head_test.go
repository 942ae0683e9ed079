package archiver

import (
	"context"
	"errors"
	"testing"
	"time"
)

// lagging is a cluster with one member that is behind: its watch returns what the member has. The other members have more.
type lagging struct {
	*cluster
	behind chan struct{} // has an element while the member is behind
}

func (l lagging) Watch(ctx context.Context, from int64) (Stream, error) {
	s, err := l.cluster.Watch(ctx, from)
	return lateStream{s, l.behind, ctx}, err
}

type lateStream struct {
	Stream
	behind chan struct{}
	ctx    context.Context
}

func (s lateStream) Receive() (Response, error) {
	r, err := s.Stream.Receive()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(s.behind) > 0 {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return r, err
		}
	}
	return r, err
}

func TestWhatAMemberHasNotReceivedIsReportedAsLag(t *testing.T) {
	for name, busy := range map[string]bool{"an idle cluster": false, "a busy cluster": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			l := lagging{b.cluster, make(chan struct{}, 1)}
			a, stop := b.start(func(o *Options) { o.Cluster = l })
			b.await("begin", func() bool { return a.Status().Timeline == 1 })
			b.put("1", "a")
			b.await("store", func() bool { return a.Status().Stored.Revision == 2 && a.Status().Lag(time.Now()) == 0 })
			l.behind <- struct{}{}
			if busy { // one more change arrives before the member falls behind
				b.put("2", "a")
			}
			b.put("3", "a")
			written := time.Now()
			b.await("report the lag", func() bool { return a.Status().Lag(time.Now()) > 200*time.Millisecond })
			if s := a.Status(); s.Progress.At.After(written.Add(50*time.Millisecond)) || s.Safe.After(written.Add(50*time.Millisecond)) {
				t.Errorf("the status says that all is stored up to %s and %s, but a change of %s is not", s.Progress.At, s.Safe, written)
			}
			<-l.behind
			b.await("catch up", func() bool { return a.Status().Stored.Revision == b.last() && a.Status().Lag(time.Now()) == 0 })
			_ = stop()
			b.wantEvents()
		})
	}
}

func TestAnIdleClustersProgressIsConfirmedByAQuorum(t *testing.T) {
	b := newBench(t)
	a, stop := b.start()
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	since := time.Now().Add(200 * time.Millisecond)
	b.await("move its progress", func() bool {
		s := a.Status()
		return s.Progress.Revision == 2 && s.Progress.At.After(since) && s.Safe.After(since)
	})
	_ = stop()
}

func TestAWatchThatReturnsNothingEnds(t *testing.T) {
	b := newBench(t)
	l := lagging{b.cluster, make(chan struct{}, 1)}
	b.archived(1)
	l.behind <- struct{}{}
	b.put("1", "a")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	a := New(Options{Cluster: l, Store: b.store, Root: root, Dir: t.TempDir(), TakeBase: b.takeBase, Now: time.Now, MaxLag: 40 * time.Millisecond, MaxSilence: 300 * time.Millisecond})
	if err := a.Run(ctx); !errors.Is(err, ErrSilent) {
		t.Errorf("it ended with %v", err)
	}
}
