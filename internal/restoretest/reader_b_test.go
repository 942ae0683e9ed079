package restoretest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

// Other Pods fill the disk of the node while the child compacts the restored store. Not every try needs a new page.
func TestAFullDiskIsNoLackOfMemory(t *testing.T) {
	for range 8 {
		err := onFullDisk(t)
		if err == nil {
			continue
		}
		if errors.Is(err, dbfile.ErrMemory) || !errors.Is(err, dbfile.ErrDisk) {
			t.Errorf("the status says RestoreTestTooLarge, raise the memory: %v", err)
		}
		return
	}
	t.Skip("no try needed a new page")
}

func onFullDisk(t *testing.T) error {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=220m"); err != nil {
		t.Skip("only root can mount a small disk: ", err)
	}
	defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
	db := dbfiletest.New(t, 1)
	for range 10 {
		db.Put(3000, 300)
	}
	path := filepath.Join(disk, "fetch.db")
	if err := os.WriteFile(path, db.Snapshot(), 0o600); err != nil {
		t.Fatal(err)
	}
	trial := dbfile.Trial{SnapshotPath: path, DataDir: filepath.Join(disk, "data"), Revision: db.Revision(), Proven: true}
	if _, err := dbfile.TryRestore(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	others, err := os.Create(filepath.Join(disk, "others"))
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = others.Write(block)
	}
	_ = others.Close()
	trial.CompactRevision = db.Revision() - 10
	// The data directory is complete, so the child only computes the hash.
	_, err = (Process{Memory: 512 << 20}).Try(t.Context(), trial)
	return err
}
