package snapshottest

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Huge is a store with objects of that many zeros.
type Huge struct {
	objstore.Store
	Sizes map[string]int64
}

func (h Huge) Get(_ context.Context, key string) (io.ReadCloser, error) {
	size, exists := h.Sizes[key]
	if !exists {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(io.LimitReader(Zeros{}, size)), nil
}

// Zeros is a body of zeros without an end.
type Zeros struct{}

func (Zeros) Read(b []byte) (int, error) { return len(b), nil }

// The only member of each test cluster.
const (
	Member      = 0x8e9e05c52164694d
	OtherMember = 0x1111111111111111
)

// Database returns the snapshot of a cluster with this number of keys.
func Database(t testing.TB, member uint64, keys int) []byte {
	t.Helper()
	return dbfiletest.New(t, member).Put(keys, 200).Snapshot()
}

// Source streams content and ends with err, or io.EOF if err is nil.
type Source struct {
	Content []byte
	Err     error
	Refuse  error
	Asked   int
}

func (s *Source) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	s.Asked++
	if s.Refuse != nil {
		return nil, 0, s.Refuse
	}
	end := s.Err
	if end == nil {
		end = io.EOF
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(s.Content), ErrReader{end})), int64(len(s.Content)), nil
}

// ErrReader is a body that fails at once.
type ErrReader struct{ Err error }

func (r ErrReader) Read([]byte) (int, error) { return 0, r.Err }

// OnDisk returns the files in a spool directory.
func OnDisk(t testing.TB, dir string) []string {
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
