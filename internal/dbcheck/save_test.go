package dbcheck_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// crafted is a server that streams a crafted file with a right trailer.
type crafted string

func (c crafted) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	f, err := os.Open(string(c))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	return f, info.Size(), err
}

// A namespace's own server took 517 MiB of the operator of all namespaces.
func TestASaveOfACraftedStreamTakesNoMemoryOfTheOperator(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot.db")
	dbfiletest.Chain(t, path, 4, 128<<20)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, info.Size()-sha256.Size)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(sum.Sum(nil), info.Size()-sha256.Size); err != nil {
		t.Fatal(err)
	}
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = save.Snapshot(t.Context(), save.Request{Source: crafted(path), Store: store, Key: "x.db", SpoolDir: t.TempDir()})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, dbfile.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if took := after.HeapSys - before.HeapSys; after.HeapSys > before.HeapSys && took > 48<<20 {
		t.Errorf("the operator took %d MiB", took>>20)
	}
}
