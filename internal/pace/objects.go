package pace

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// perObject is what an object counts at least. The time until a store answers limits small objects, and not the bytes that it sends.
const perObject = 256 << 10

// Objects measures a transfer of many objects. Only the time counts for which the store is waited for, because the reader may have work of
// its own between two reads. A store that sends nothing at all is ended by the transport.
func Objects(ctx context.Context, store objstore.Getter) objstore.Getter {
	l, measured := ctx.Value(key{}).(limit)
	if !measured {
		return store
	}
	return &objects{Getter: store, end: l.end}
}

type objects struct {
	objstore.Getter
	end context.CancelCauseFunc

	mu     sync.Mutex
	waited time.Duration
	moved  int64
}

// Get opens an object, whose reads are measured.
func (o *objects) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	begin := time.Now()
	body, err := o.Getter.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	o.add(time.Since(begin), perObject)
	return &objectBody{ReadCloser: body, of: o}, nil
}

// add records that a read of that many bytes took so long.
func (o *objects) add(waited time.Duration, bytes int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waited, o.moved = o.waited+waited, o.moved+bytes
	if o.waited < Window {
		return
	}
	if o.moved < Floor*int64(Window/time.Second) {
		o.end(fmt.Errorf("%w: it moved %d KiB in %s, and the minimum is %d KiB a second", ErrTooSlow, o.moved>>10, o.waited.Round(time.Second), Floor>>10))
	}
	o.waited, o.moved = 0, 0
}

type objectBody struct {
	io.ReadCloser
	of *objects
}

func (b *objectBody) Read(p []byte) (int, error) {
	begin := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.of.add(time.Since(begin), int64(n))
	return n, err
}
