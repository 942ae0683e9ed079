package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// patience is how long a store may take for its next byte. Nothing else ends a connection that stays open and
// silent, and a whole download has no limit of its own, because a large one takes its time.
const patience = time.Minute

// patient is a store to read from, whose silence is an error.
type patient struct {
	objstore.Store
	limit time.Duration
	// progress is told how many bytes of an object have come; nil tells nobody.
	progress func(key string, bytes int64)
}

// watch is a context that is cancelled when nobody calls stop within limit of the last call of start.
type watch struct {
	context.Context
	timer *time.Timer
	limit time.Duration
	end   context.CancelCauseFunc
}

func (p patient) watch(ctx context.Context) *watch {
	ctx, cancel := context.WithCancelCause(ctx)
	silent := fmt.Errorf("the store has sent nothing for %s", p.limit)
	return &watch{
		Context: ctx, limit: p.limit, end: cancel,
		timer: time.AfterFunc(p.limit, func() { cancel(silent) }),
	}
}

func (w *watch) start() { w.timer.Reset(w.limit) }

// stop returns err, with the silence for its cause where that was it.
func (w *watch) stop(err error) error {
	w.timer.Stop()
	if cause := context.Cause(w); err != nil && cause != nil && !errors.Is(err, cause) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

func (w *watch) close() {
	w.timer.Stop()
	w.end(nil)
}

// Get opens key.
func (p patient) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	w := p.watch(ctx)
	body, err := p.Store.Get(w, key)
	if err = w.stop(err); err != nil {
		w.close()
		return nil, err
	}
	return &patientBody{ReadCloser: body, watch: w, key: key, progress: p.progress}, nil
}

type patientBody struct {
	io.ReadCloser
	watch    *watch
	key      string
	bytes    int64
	progress func(string, int64)
}

func (b *patientBody) Read(buf []byte) (int, error) {
	b.watch.start()
	n, err := b.ReadCloser.Read(buf)
	b.bytes += int64(n)
	if b.progress != nil {
		b.progress(b.key, b.bytes)
	}
	return n, b.watch.stop(err)
}

func (b *patientBody) Close() error {
	defer b.watch.close()
	return b.ReadCloser.Close()
}

// List yields the objects whose key begins with prefix.
func (p patient) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		w := p.watch(ctx)
		defer w.close()
		for object, err := range p.Store.List(w, prefix) {
			if !yield(object, w.stop(err)) {
				return
			}
			w.start()
		}
	}
}
