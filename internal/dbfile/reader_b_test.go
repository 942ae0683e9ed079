package dbfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// The file cannot be opened. The error could be ENOMEM, EMFILE or EIO as well: etcd's logger gets it, and panics without it.
func TestAFileThatCannotBeOpenedIsNoFaultOfTheSnapshot(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "member", "snap", "db"), 0o700), os.MkdirAll(filepath.Join(dir, "member", "wal"), 0o700)); err != nil {
		t.Fatal(err)
	}
	_, err := dbfile.TryRestore(t.Context(), dbfile.Trial{SnapshotPath: "unused", DataDir: dir, Revision: 1, Proven: true})
	if !errors.Is(err, dbfile.ErrDisk) {
		t.Errorf("this condemns the snapshot: %v", err)
	}
}
