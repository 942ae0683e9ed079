package archiver

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// stopping is a cluster whose members accept a request for the state of authentication, and do not answer while they stop. Then they end the watch.
type stopping struct {
	mortal
	stops chan struct{} // closed when they begin to stop
	asked chan struct{} // closed by the first request after that
	once  *sync.Once
}

func (b *bench) stopping() stopping {
	return stopping{b.mortal(), make(chan struct{}), make(chan struct{}), new(sync.Once)}
}

func (c stopping) Auth(ctx context.Context, id uint64) (auth.State, error) {
	select {
	case <-c.stops:
		c.once.Do(func() { close(c.asked) })
		<-ctx.Done()
		return auth.State{}, ctx.Err()
	default:
		return c.mortal.Auth(ctx, id)
	}
}

// A restore, and hibernation, stop all members. If the archiver asked for the state of authentication at that moment, it did not see that the watch had
// ended, and the last changes reached the store 11 seconds later.
func TestTheLastChangesDoNotWaitForMembersThatEndTheWatch(t *testing.T) {
	b := newBench(t)
	m := b.stopping()
	a, stop := b.start(func(o *Options) { o.Cluster, o.MaxLag = m, time.Second })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	close(m.stops)
	b.put("1", "a")
	<-m.asked
	b.put("2", "a")
	b.put("3", "a")
	ended := time.Now()
	close(m.dead)
	b.await("store what it had received", func() bool { return a.Status().Stored.Revision >= 2 })
	if took := time.Since(ended); took > 5*lastAuthTimeout {
		t.Errorf("the last changes were stored %s after the watch had ended", took)
	}
	if err := stop(); err == nil {
		t.Error("the archiver did not report that no member answers")
	}
}

// A slow cluster is no lost one: the session must not end, and no segment may have another state of authentication than that at its end, while the watch
// continues.
func TestASlowAnswerEndsNoSessionWhileTheWatchContinues(t *testing.T) {
	b := newBench(t)
	m := slowAuth{b.cluster, make(chan struct{}, 100), make(chan struct{})}
	a, stop := b.start(func(o *Options) { o.Cluster = m })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	<-m.asked
	for range 3 * maxAhead {
		b.put("2", "a") // more than the session reads ahead
	}
	<-time.After(2 * lastAuthTimeout)
	if s := a.Status(); s.Segments > 0 {
		t.Errorf("%d segments were stored before the state of authentication was known", s.Segments)
	}
	close(m.slow)
	b.await("store all", func() bool { return a.Status().Stored.Revision == int64(2+3*maxAhead) })
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("the session has ended: %v", err)
	}
	b.wantEvents()
	if n := len(b.reasons()); n != 1 {
		t.Errorf("%d bases: %q", n, b.reasons())
	}
}

// slowAuth does not return the state of authentication until slow is closed, once the archive has begun.
type slowAuth struct {
	*cluster
	asked, slow chan struct{}
}

func (c slowAuth) Auth(ctx context.Context, id uint64) (auth.State, error) {
	if c.changes() > 0 {
		c.asked <- struct{}{}
		select {
		case <-c.slow:
		case <-ctx.Done():
			return auth.State{}, ctx.Err()
		}
	}
	return c.cluster.Auth(ctx, id)
}

func (c slowAuth) changes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.events)
}
