package dbcheck

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// Keys of a damaged or hostile snapshot are read in a process of their own, with a bound, and the operator continues.
func TestKeysAreExtractedInAProcess(t *testing.T) {
	good := dbfiletest.New(t, 1).Put(20_000, 10).Snapshot()
	create := func() (values, index *os.File) {
		dir := t.TempDir()
		values, err1 := os.Create(filepath.Join(dir, "values"))
		index, err2 := os.Create(filepath.Join(dir, "index"))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = values.Close(), index.Close() })
		return values, index
	}
	values, index := create()
	if err := (Process{Memory: smallMemory}).Extract(t.Context(), write(t, good), []string{"key-00"}, values, index); err != nil {
		t.Fatal(err)
	}
	size, err1 := values.Stat()
	_, err2 := index.Seek(0, 0)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	entries, n := dbfile.NewEntries(index, values, size.Size()), 0
	for ; ; n++ {
		if entry, err := entries.Next(); err != nil {
			break
		} else if value, err := entries.Value(entry); err != nil || len(value) != 10 {
			t.Fatalf("%q: %d bytes, %v", entry.Key, len(value), err)
		}
	}
	if n != 10_000 {
		t.Errorf("%d keys", n)
	}
	values, index = create()
	if err := (Process{Memory: smallMemory}).Extract(t.Context(), write(t, dbfiletest.Seal(good[:len(good)/2/4096*4096])), []string{"key"}, values, index); !errors.Is(err, dbfile.ErrCorrupt) {
		t.Errorf("half of a snapshot: %v", err)
	}
	many := dbfiletest.New(t, 1).Put(200_000, 1).Snapshot()
	if err := (Process{Memory: smallMemory}).Extract(t.Context(), write(t, many), []string{"key"}, values, index); !errors.Is(err, dbfile.ErrTooLarge) {
		t.Errorf("more keys than fit: %v", err)
	}
}

// The keys of a snapshot are compared in the process of the operator, which holds one of each reading, and copies it for a transaction. A writer of the bucket
// writes keys of 64 MiB, and members answer slowly: twelve readings then need more memory than restore-operator has.
func TestAHugeKeyIsNotReadIntoTheOperator(t *testing.T) {
	file := write(t, dbfiletest.New(t, 1).PutKey(strings.Repeat("k", 8<<20), 1).Snapshot())
	const large = 640 << 20 // as in the chart; with the race detector, a key of 64 MiB does not fit
	if _, err := (Process{Memory: large}).Inspect(t.Context(), file); err != nil {
		t.Fatalf("the snapshot is damaged: %v", err)
	}
	values, err1 := os.Create(filepath.Join(t.TempDir(), "values"))
	index, err2 := os.Create(filepath.Join(t.TempDir(), "index"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer values.Close()
	defer index.Close()
	if err := (Process{Memory: large}).Extract(t.Context(), file, []string{"k"}, values, index); errors.Is(err, dbfile.ErrTooLarge) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := index.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	heaptest.Bound(t, 8, func() {
		entry, err := dbfile.NewEntries(index, values, 1).Next()
		t.Errorf("a key of %d MiB is read, error %v", len(entry.Key)>>20, err)
	})
}

// A lock or a job of a queue is created and deleted again and again, and the history is not compacted. One key exists below the prefix, and the
// check of the same file has enough memory for all of its keys.
func TestKeysThatWereDeletedNeedNoMemory(t *testing.T) {
	db := dbfiletest.New(t, 1).Put(2, 10)
	for range 150_000 {
		db.Delete("key-000000").Put(1, 10)
	}
	file := write(t, db.Snapshot())
	info, err := (Process{Memory: smallMemory}).Inspect(t.Context(), file)
	if err != nil || info.Keys != 2 {
		t.Fatalf("%d keys, %v", info.Keys, err)
	}
	dir := t.TempDir()
	values, err1 := os.Create(filepath.Join(dir, "values"))
	index, err2 := os.Create(filepath.Join(dir, "index"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer values.Close()
	defer index.Close()
	if err := (Process{Memory: smallMemory}).Extract(t.Context(), file, []string{"key-"}, values, index); err != nil {
		t.Errorf("a snapshot with %d keys: %v", info.Keys, err)
	}
}
