package proof_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func put(t *testing.T, dir, name string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestCleanSpoolOnlyDeletesItsOwnFiles(t *testing.T) {
	dir := t.TempDir() + "/odd [name]*"
	for _, name := range []string{"spool-1.db", "fetch-2.db", "mine.db"} {
		put(t, dir, name)
	}
	if err := proof.CleanSpool(dir); err != nil {
		t.Fatal(err)
	}
	if got := snapshottest.OnDisk(t, dir); !slices.Equal(got, []string{"mine.db"}) {
		t.Errorf("left %q, want mine.db", got)
	}
	if err := proof.CleanSpool(dir + "/absent"); err != nil {
		t.Errorf("a missing directory: error %v, want none", err)
	}
}
