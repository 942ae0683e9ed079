//go:build unix

package datadir

import (
	"errors"
	"os"
	"syscall"
)

// lockShared fails with ErrInUse if an etcd has locked the file. A file system that cannot lock files locks none.
func lockShared(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return nil
}
