package file_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

func TestStoreFulfilsTheContract(t *testing.T) {
	objstoretest.Run(t, func(t *testing.T) objstore.Store { return open(t, t.TempDir()) })
}

func TestMissingDirectoryIsErrNoBucket(t *testing.T) {
	t.Run("when the store is opened", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "absent")
		_, err := file.Open(dir)
		if !errors.Is(err, objstore.ErrNoBucket) || !strings.Contains(err.Error(), dir) {
			t.Errorf("error %v, want ErrNoBucket that names %s", err, dir)
		}
	})
	t.Run("when the directory is deleted later", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "gone")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		store := open(t, dir)
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		objstoretest.RunNoBucket(t, store, dir)
	})
}

func TestInvalidKeysAreRejected(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "store")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(parent, "outside"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(parent, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	store := open(t, dir)
	for _, key := range []string{"../outside", "/etc/passwd", "a/../../outside", "", ".", "a//b", "a/", "link/outside", "a\x00b", ".objstore-incomplete/x"} {
		t.Run("rejects "+key, func(t *testing.T) {
			if err := store.Put(t.Context(), key, strings.NewReader("y")); err == nil {
				t.Error("put succeeded")
			}
			if body, err := store.Get(t.Context(), key); err == nil {
				_ = body.Close()
				t.Error("get succeeded")
			}
		})
	}
	if got, err := os.ReadFile(filepath.Join(parent, "outside")); err != nil || string(got) != "x" {
		t.Errorf("the file outside holds %q, error %v", got, err)
	}
}

func TestOnlyStaleUnfinishedFilesAreDeleted(t *testing.T) {
	dir := t.TempDir()
	tmp := filepath.Join(dir, ".objstore-incomplete")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(tmp, "old"), filepath.Join(tmp, "young")
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	yesterday := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old one: error %v, want it removed", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the young one may still be written: %v", err)
	}
}

func open(t *testing.T, dir string) objstore.Store {
	t.Helper()
	store, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
