package snapshot

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

	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

// The only member of each test cluster.
const (
	member      = 0x8e9e05c52164694d
	otherMember = 0x1111111111111111
)

// database returns the snapshot of a cluster with this number of keys.
func database(t testing.TB, member uint64, keys int) []byte {
	t.Helper()
	return dbfiletest.New(t, member).Put(keys, 200).Snapshot()
}

// source streams content and ends with err, or io.EOF if err is nil.
type source struct {
	content []byte
	err     error
	refuse  error
	asked   int
}

func (s *source) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	s.asked++
	if s.refuse != nil {
		return nil, 0, s.refuse
	}
	end := s.err
	if end == nil {
		end = io.EOF
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(s.content), errReader{end})), int64(len(s.content)), nil
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// errKilled is the result of all calls after a process was killed.
var errKilled = errors.New("killed")

// when a call is killed.
type when string

const (
	before    when = "before"
	inBetween when = "in the middle of"
	after     when = "after"
)

// mortal is the store of a process that is killed at call number at.
type mortal struct {
	objstore.Store
	at   int
	when when

	mu    sync.Mutex
	calls int
	dead  bool
}

// step fails if the process was killed, and reports whether this call is the last.
func (m *mortal) step() (last bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.dead || m.calls == m.at && m.when == before {
		m.dead = true
		return false, errKilled
	}
	m.dead = m.calls == m.at
	return m.dead, nil
}

func (m *mortal) Put(ctx context.Context, key string, body io.Reader) error {
	last, err := m.step()
	if err != nil {
		return err
	}
	if last && m.when == inBetween {
		body = io.MultiReader(io.LimitReader(body, 100), errReader{errKilled})
	}
	err = m.Store.Put(ctx, key, body)
	if last {
		return errKilled
	}
	return err
}

func (m *mortal) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	last, err := m.step()
	if err != nil || last {
		return nil, errKilled
	}
	return m.Store.Get(ctx, key)
}

func (m *mortal) Delete(ctx context.Context, key string) error {
	last, err := m.step()
	if err != nil {
		return err
	}
	err = m.Store.Delete(ctx, key)
	if last {
		return errKilled
	}
	return err
}

// bucket is a store in a directory.
type bucket struct {
	objstore.Store
	t   testing.TB
	dir string
}

func newBucket(t testing.TB) bucket {
	t.Helper()
	dir := t.TempDir()
	store, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return bucket{store, t, dir}
}

// put writes an object directly.
func (b bucket) put(key string, content []byte) {
	b.t.Helper()
	if err := b.Put(b.t.Context(), key, bytes.NewReader(content)); err != nil {
		b.t.Fatal(err)
	}
}

// get reads an object.
func (b bucket) get(key string) []byte {
	b.t.Helper()
	body, err := b.Get(b.t.Context(), key)
	if err != nil {
		b.t.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		b.t.Fatal(err)
	}
	return content
}

// remove deletes an object.
func (b bucket) remove(key string) {
	b.t.Helper()
	if err := b.Delete(b.t.Context(), key); err != nil {
		b.t.Fatal(err)
	}
}

// keys returns all keys.
func (b bucket) keys() []string {
	b.t.Helper()
	var keys []string
	for object, err := range b.List(b.t.Context(), "") {
		if err != nil {
			b.t.Fatal(err)
		}
		keys = append(keys, object.Key)
	}
	return keys
}

// age makes an object older.
func (b bucket) age(key string, by time.Duration) {
	b.t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(b.dir+"/"+key, at, at); err != nil {
		b.t.Fatal(err)
	}
}

// onDisk returns the files in a spool directory.
func onDisk(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// undeletable is a store whose user has no permission to delete.
type undeletable struct{ objstore.Store }

func (undeletable) Delete(context.Context, string) error { return fs.ErrPermission }
