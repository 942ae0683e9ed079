package objstoretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Fault is what a Faulty does with one object. Faults can be combined. Each of them is the answer of a real store, in the kind that all
// providers have in common.
type Fault uint

const (
	// Cold refuses to return the object: it is in an archive storage class.
	Cold Fault = 1 << iota
	// Locked refuses to delete the object: it is under a retention period or a hold.
	Locked
	// Omitted leaves the object out of listings.
	Omitted
	// Lost returns an error of no kind for the object: the store has lost a part of it.
	Lost
	// Gone is as if the object did not exist: another party has deleted it.
	Gone
)

var (
	// ErrLost is the error of a lost object.
	ErrLost = errors.New("500 InternalError: we encountered an internal error")
	// ErrKilled is the error of each write after the writer was killed.
	ErrKilled = errors.New("the writer was killed")
)

// Faulty is a store of any provider, with faults of some objects and a writer that can be killed. All tests with faults of a store share it, so
// that a new provider gets them by NewFaulty. It is safe for concurrent use.
type Faulty struct {
	objstore.Store
	// Refuses reports whether the store fails to create an object; nil is none. Set it while no other goroutine uses the store.
	Refuses func(key string) bool

	mu     sync.Mutex
	faults map[string]Fault
	// left is the number of writes until the writer is killed; negative is never.
	left          int
	writes, reads int
}

var _ objstore.Store = (*Faulty)(nil)

// NewFaulty returns a store that has no faults yet.
func NewFaulty(store objstore.Store) *Faulty {
	return &Faulty{Store: store, faults: map[string]Fault{}, left: -1}
}

// Set gives an object these faults, and no others.
func (f *Faulty) Set(key string, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[key] = fault
}

// Of returns the faults of an object.
func (f *Faulty) Of(key string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults[key]
}

// Kill lets the writer be killed at its write number after from now. The store does that write, but its answer is lost. With 0, the writer is
// killed before its next write. Negative is never.
func (f *Faulty) Kill(after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = after
}

// Reads returns how many objects were asked for.
func (f *Faulty) Reads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads
}

// Writes returns how many objects the writer has tried to create or delete.
func (f *Faulty) Writes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

// write does one write, unless the writer is killed before it.
func (f *Faulty) write(do func() error) error {
	killed, last := f.count()
	if killed {
		return ErrKilled
	}
	err := do()
	if last && err == nil {
		return ErrKilled // the answer is lost
	}
	return err
}

func (f *Faulty) count() (killed, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	if f.left == 0 {
		return true, false
	}
	f.left--
	return false, f.left == 0
}

// Put creates an object.
func (f *Faulty) Put(ctx context.Context, key string, body io.Reader) error {
	return f.write(func() error {
		if f.Refuses != nil && f.Refuses(key) {
			return fmt.Errorf("put %q: %w", key, ErrLost)
		}
		return f.Store.Put(ctx, key, body)
	})
}

// Get opens an object.
func (f *Faulty) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	f.mu.Lock()
	f.reads++
	fault := f.faults[key]
	f.mu.Unlock()
	body, err := f.Store.Get(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case fault&Gone != 0:
		err = fs.ErrNotExist
	case fault&Cold != 0:
		err = fmt.Errorf("403 InvalidObjectState: %w", fs.ErrPermission)
	case fault&Lost != 0:
		err = ErrLost
	default:
		return body, nil
	}
	return nil, errors.Join(fmt.Errorf("get %q: %w", key, err), body.Close())
}

// List yields the objects that are neither omitted nor gone.
func (f *Faulty) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for object, err := range f.Store.List(ctx, prefix) {
			fault := f.Of(object.Key)
			if err == nil && fault&(Omitted|Gone) != 0 {
				continue
			}
			object.Cold = object.Cold || fault&Cold != 0
			if !yield(object, err) {
				return
			}
		}
	}
}

// Delete deletes an object.
func (f *Faulty) Delete(ctx context.Context, key string) error {
	return f.write(func() error {
		switch fault := f.Of(key); {
		case ctx.Err() != nil:
			return ctx.Err()
		case fault&Gone != 0:
			return nil
		case fault&Locked != 0:
			return fmt.Errorf("delete %q: 403 AccessDenied: the object is locked: %w", key, fs.ErrPermission)
		case fault&Lost != 0:
			return fmt.Errorf("delete %q: %w", key, ErrLost)
		}
		return f.Store.Delete(ctx, key)
	})
}
