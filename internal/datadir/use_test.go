//go:build unix

package datadir

import (
	"errors"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// A database that is copied while etcd writes to it is torn, and a snapshot of it may lack writes without a sign of that.
func TestADirectoryInUseIsRefused(t *testing.T) {
	m := newMember(t, 3, false).killed()
	running, err := bbolt.Open(m.path+"/"+databasePath, 0o600, nil) // as etcd opens it
	m.must(err)
	if _, err := Open(m.path, "."); !errors.Is(err, ErrInUse) {
		t.Errorf("the directory of an etcd that runs is opened: %v", err)
	}
	m.must(running.Close())
	d, err := Open(m.path, ".")
	m.must(err)
	if running, err := bbolt.Open(m.path+"/"+databasePath, 0o600, &bbolt.Options{Timeout: 1}); err == nil {
		_ = running.Close()
		t.Error("an etcd opens the directory while it is read")
	}
	m.must(d.Close())
}
