package source

import (
	"fmt"
	"syscall"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// ErrDisk is in the chain when the disk here failed or is full; the rest of the chain says nothing about the object.
var ErrDisk = snapshot.ErrDisk

// Free is how many bytes a user who is not root can still write to the file system of dir.
func Free(dir string) (int64, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("ask for the free space of %s: %w: %w", dir, ErrDisk, err)
	}
	return int64(stat.Bavail) * stat.Bsize, nil
}

// enough says before anything is read when dir cannot hold size bytes.
func enough(dir string, size int64) error {
	if size == 0 {
		return nil
	}
	free, err := Free(dir)
	if err != nil {
		return err
	}
	if free < size {
		return fmt.Errorf("%w: %d MiB are free where the snapshot of %d MiB is to be read to", ErrDisk, free>>20, size>>20)
	}
	return nil
}
