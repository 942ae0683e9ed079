package archiver

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// unexpected is a cluster whose next answer to one question makes the code that reads it panic.
type unexpected struct {
	*cluster
	question string
	now      *atomic.Bool
}

func (u unexpected) answer(question string) {
	if u.question == question && u.now.Load() {
		panic("unexpected")
	}
}

func (u unexpected) Head(ctx context.Context) (Head, error) {
	u.answer("the revision")
	return u.cluster.Head(ctx)
}

func (u unexpected) TTL(ctx context.Context, of uint64, id int64) (int64, error) {
	u.answer("the TTL of a lease")
	return u.cluster.TTL(ctx, of, id)
}

func (u unexpected) Watch(ctx context.Context, from int64) (Stream, error) {
	s, err := u.cluster.Watch(ctx, from)
	return unexpectedStream{s, u}, err
}

type unexpectedStream struct {
	Stream
	u unexpected
}

func (s unexpectedStream) Receive() (Response, error) {
	r, err := s.Stream.Receive()
	s.u.answer("a change")
	return r, err
}

// An etcd that a user names may answer anything. If that ended backup-operator, no namespace would have backups.
func TestAnAnswerThatNoCodeExpectsEndsOneArchiverAtMost(t *testing.T) {
	for question, ends := range map[string]bool{"the revision": true, "a change": true, "the TTL of a lease": false} {
		t.Run(question, func(t *testing.T) {
			b := newBench(t)
			u := unexpected{b.cluster, question, new(atomic.Bool)}
			a := New(Options{
				Cluster: u, Store: b.store, Root: root, Dir: t.TempDir(), Now: time.Now, MaxLag: 20 * time.Millisecond,
				RetryMin: time.Millisecond, RetryMax: time.Millisecond, TakeBase: b.takeBase,
			})
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- a.Run(ctx) }()
			b.await("begin", func() bool { return a.Status().Timeline == 1 })
			u.now.Store(true)
			b.change(func() {
				kv := &mvccpb.KeyValue{Key: []byte("a"), ModRevision: 2, CreateRevision: 2, Version: 1, Lease: 7}
				b.cluster.events = append(b.cluster.events, &mvccpb.Event{Kv: kv})
			})
			if !ends {
				b.put("2", "a")
				b.await("store the change", func() bool { return a.Status().Stored.Revision == 3 })
				stop()
			}
			err := <-ended
			if caught := (*panics.Error)(nil); errors.As(err, &caught) != ends || ctx.Err() != nil && ends {
				t.Errorf("the archiver ended with %v", err)
			}
		})
	}
}
