package objstoretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Fault is what a Memory does with one object. Faults can be combined. Each of them is the answer of a real store, in the kind that all
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
)

// ErrLost is the error of a lost object.
var ErrLost = errors.New("500 InternalError: we encountered an internal error")

// Memory is a store in the memory, with faults. It is safe for concurrent use.
type Memory struct {
	// Now is the clock of the store; nil is the time of this machine.
	Now func() time.Time
	// Refuses reports whether the store fails to create an object; nil is none. Set it while no other goroutine uses the store.
	Refuses func(key string) bool

	mu      sync.Mutex
	objects map[string][]byte
	times   map[string]time.Time
	faults  map[string]Fault
	deleted []string
}

var _ objstore.Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{objects: map[string][]byte{}, times: map[string]time.Time{}, faults: map[string]Fault{}}
}

// Set gives an object these faults, and no others.
func (m *Memory) Set(key string, f Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults[key] = f
}

// Has reports whether an object exists, whatever its faults are.
func (m *Memory) Has(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, exists := m.objects[key]
	return exists
}

// Keys returns all keys, whatever their faults are.
func (m *Memory) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

// Deleted returns the keys of deleted objects in the order of their deletion.
func (m *Memory) Deleted() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.deleted)
}

// Put creates an object.
func (m *Memory) Put(ctx context.Context, key string, body io.Reader) error {
	content, err := io.ReadAll(body)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if m.Refuses != nil && m.Refuses(key) {
		return fmt.Errorf("put %q: %w", key, ErrLost)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, exists := m.objects[key]; exists {
		return fmt.Errorf("put %q: %w", key, fs.ErrExist)
	}
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	m.objects[key], m.times[key] = content, now()
	return nil
}

// Get opens an object.
func (m *Memory) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, exists := m.objects[key]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !exists:
		return nil, fmt.Errorf("get %q: %w", key, fs.ErrNotExist)
	case m.faults[key]&Cold != 0:
		return nil, fmt.Errorf("get %q: 403 InvalidObjectState: %w", key, fs.ErrPermission)
	case m.faults[key]&Lost != 0:
		return nil, fmt.Errorf("get %q: %w", key, ErrLost)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// List yields the objects that are not omitted.
func (m *Memory) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for _, key := range m.Keys() {
			if err := ctx.Err(); err != nil {
				yield(objstore.Object{}, err)
				return
			}
			m.mu.Lock()
			content, exists := m.objects[key]
			object, omitted := objstore.Object{Key: key, Size: int64(len(content)), ModTime: m.times[key], Cold: m.faults[key]&Cold != 0}, m.faults[key]&Omitted != 0
			m.mu.Unlock()
			if exists && !omitted && strings.HasPrefix(key, prefix) && !yield(object, nil) {
				return
			}
		}
	}
}

// Delete deletes an object.
func (m *Memory) Delete(ctx context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, exists := m.objects[key]
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !exists:
		return nil
	case m.faults[key]&Locked != 0:
		return fmt.Errorf("delete %q: 403 AccessDenied: the object is locked: %w", key, fs.ErrPermission)
	case m.faults[key]&Lost != 0:
		return fmt.Errorf("delete %q: %w", key, ErrLost)
	}
	delete(m.objects, key)
	delete(m.times, key)
	m.deleted = append(m.deleted, key)
	return nil
}
