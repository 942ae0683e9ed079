// Package snapshottest has what the tests of snapshots share: a store that is killed, members that fail, snapshots of a series.
package snapshottest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

// ErrKilled is the result of all calls after a process was killed.
var ErrKilled = errors.New("killed")

// When a call is killed.
type When string

const (
	Before    When = "before"
	InBetween When = "in the middle of"
	After     When = "after"
)

// Mortal is the store of a process that is killed at call number at.
type Mortal struct {
	objstore.Store
	At   int
	When When

	mu    sync.Mutex
	calls int
	dead  bool
}

// step fails if the process was killed, and reports whether this call is the last.
func (m *Mortal) step() (last bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.dead || m.calls == m.At && m.When == Before {
		m.dead = true
		return false, ErrKilled
	}
	m.dead = m.calls == m.At
	return m.dead, nil
}

func (m *Mortal) Put(ctx context.Context, key string, body io.Reader) error {
	last, err := m.step()
	if err != nil {
		return err
	}
	if last && m.When == InBetween {
		body = io.MultiReader(io.LimitReader(body, 100), ErrReader{ErrKilled})
	}
	err = m.Store.Put(ctx, key, body)
	if last {
		return ErrKilled
	}
	return err
}

func (m *Mortal) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	last, err := m.step()
	if err != nil || last {
		return nil, ErrKilled
	}
	return m.Store.Get(ctx, key)
}

func (m *Mortal) Delete(ctx context.Context, key string) error {
	last, err := m.step()
	if err != nil {
		return err
	}
	err = m.Store.Delete(ctx, key)
	if last {
		return ErrKilled
	}
	return err
}

// Bucket is a store in a directory.
type Bucket struct {
	objstore.Store
	T   testing.TB
	Dir string
}

// NewBucket returns an empty store in a directory.
func NewBucket(t testing.TB) Bucket {
	t.Helper()
	dir := t.TempDir()
	store, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return Bucket{store, t, dir}
}

// Write writes an object directly.
func (b Bucket) Write(key string, content []byte) {
	b.T.Helper()
	if err := b.Put(b.T.Context(), key, bytes.NewReader(content)); err != nil {
		b.T.Fatal(err)
	}
}

// Content reads an object.
func (b Bucket) Content(key string) []byte {
	b.T.Helper()
	body, err := b.Get(b.T.Context(), key)
	if err != nil {
		b.T.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		b.T.Fatal(err)
	}
	return content
}

// Remove deletes an object.
func (b Bucket) Remove(key string) {
	b.T.Helper()
	if err := b.Delete(b.T.Context(), key); err != nil {
		b.T.Fatal(err)
	}
}

// Keys returns all keys.
func (b Bucket) Keys() []string {
	b.T.Helper()
	var keys []string
	for object, err := range b.List(b.T.Context(), "") {
		if err != nil {
			b.T.Fatal(err)
		}
		keys = append(keys, object.Key)
	}
	return keys
}

// Age makes an object older.
func (b Bucket) Age(key string, by time.Duration) {
	b.T.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(b.Dir+"/"+key, at, at); err != nil {
		b.T.Fatal(err)
	}
}

// Undeletable is a store whose user has no permission to delete.
type Undeletable struct{ objstore.Store }

func (Undeletable) Delete(context.Context, string) error { return fs.ErrPermission }
