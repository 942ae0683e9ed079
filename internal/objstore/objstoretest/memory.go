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

// Memory is a store in the memory, with faults. It is safe for concurrent use.
type Memory struct {
	*Faulty
	// Now is the clock of the store; nil is the time of this machine.
	Now func() time.Time

	plain *plain
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	m := &Memory{plain: &plain{objects: map[string][]byte{}, times: map[string]time.Time{}}}
	m.plain.now = func() time.Time {
		if m.Now != nil {
			return m.Now()
		}
		return time.Now()
	}
	m.Faulty = NewFaulty(m.plain)
	return m
}

// Place writes an object as another party does: no fault of the store, and no end of the writer, prevents it. It replaces an object.
func (m *Memory) Place(key string, content []byte) {
	now := m.plain.now()
	m.plain.mu.Lock()
	defer m.plain.mu.Unlock()
	m.plain.objects[key], m.plain.times[key] = content, now
}

// Has reports whether an object exists, whatever its faults are.
func (m *Memory) Has(key string) bool {
	m.plain.mu.Lock()
	defer m.plain.mu.Unlock()
	_, exists := m.plain.objects[key]
	return exists
}

// Keys returns all keys, whatever their faults are.
func (m *Memory) Keys() []string {
	m.plain.mu.Lock()
	defer m.plain.mu.Unlock()
	return slices.Sorted(maps.Keys(m.plain.objects))
}

// Deleted returns the keys of deleted objects in the order of their deletion.
func (m *Memory) Deleted() []string {
	m.plain.mu.Lock()
	defer m.plain.mu.Unlock()
	return slices.Clone(m.plain.deleted)
}

// plain are the objects of a Memory. It is a store without faults.
type plain struct {
	now func() time.Time

	mu      sync.Mutex
	objects map[string][]byte
	times   map[string]time.Time
	deleted []string
}

func (p *plain) Put(ctx context.Context, key string, body io.Reader) error {
	content, err := io.ReadAll(body)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, exists := p.objects[key]; exists {
		return fmt.Errorf("put %q: %w", key, fs.ErrExist)
	}
	p.objects[key], p.times[key] = content, now
	return nil
}

func (p *plain) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	content, exists := p.objects[key]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !exists:
		return nil, fmt.Errorf("get %q: %w", key, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (p *plain) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for _, key := range p.keys(prefix) {
			if err := ctx.Err(); err != nil {
				yield(objstore.Object{}, err)
				return
			}
			p.mu.Lock()
			content, exists := p.objects[key]
			object := objstore.Object{Key: key, Size: int64(len(content)), ModTime: p.times[key]}
			p.mu.Unlock()
			if exists && !yield(object, nil) {
				return
			}
		}
	}
}

func (p *plain) keys(prefix string) (found []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.objects {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

func (p *plain) Delete(ctx context.Context, key string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, exists := p.objects[key]; !exists || ctx.Err() != nil {
		return ctx.Err()
	}
	delete(p.objects, key)
	delete(p.times, key)
	p.deleted = append(p.deleted, key)
	return nil
}
