package clients

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

const (
	// reopenAfter is the shortest time between two readings of a Secret for one store, and reopenTimeout limits each of them.
	reopenAfter   = 30 * time.Second
	reopenTimeout = time.Minute
)

// reopened is a store that is used for months. After a request has failed, it is opened again with the Secret as it is
// now. Otherwise an archiver would use credentials that were replaced until something else ends it.
type reopened struct {
	open func(context.Context) (objstore.Store, error)
	now  func() time.Time

	mu     sync.Mutex
	store  objstore.Store
	since  time.Time
	failed bool
}

func newReopened(store objstore.Store, now func() time.Time, open func(context.Context) (objstore.Store, error)) *reopened {
	return &reopened{open: open, now: now, store: store, since: now()}
}

// present returns the store to use now. If it cannot be opened, that is the one before.
func (r *reopened) present(ctx context.Context) objstore.Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.failed && now.Sub(r.since) >= reopenAfter {
		r.since = now
		limited, cancel := context.WithTimeout(ctx, reopenTimeout)
		defer cancel()
		if store, err := r.open(limited); err == nil {
			r.store, r.failed = store, false
		}
	}
	return r.store
}

// note remembers whether a request has failed.
func (r *reopened) note(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

// Put is that of objstore.Store, like the other methods.
func (r *reopened) Put(ctx context.Context, key string, body io.Reader) error {
	err := r.present(ctx).Put(ctx, key, body)
	r.note(ctx, err)
	return err
}

func (r *reopened) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := r.present(ctx).Get(ctx, key)
	r.note(ctx, err)
	return body, err
}

func (r *reopened) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for object, err := range r.present(ctx).List(ctx, prefix) {
			r.note(ctx, err)
			if !yield(object, err) {
				return
			}
		}
	}
}

func (r *reopened) Delete(ctx context.Context, key string) error {
	err := r.present(ctx).Delete(ctx, key)
	r.note(ctx, err)
	return err
}
