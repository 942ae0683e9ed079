package seeder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/source"
)

// lockInterval is the time between two attempts to lock the volume.
const lockInterval = 100 * time.Millisecond

// lockVolume locks the volume of dir until release is called or this process ends. It prevents two seeds from working on
// one volume: after a Pod was force-deleted, its seed runs until the kubelet ends it, and the seed of the replacement
// Pod may start before. Each would remove the files of the other, or rename its unfinished data directory into place.
func (s *Seeder) lockVolume(ctx context.Context, dir string) (release func(), err error) {
	volume, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the volume: %w: %w", source.ErrDisk, err)
	}
	release = func() { _ = volume.Close() } // closing releases the lock
	if err := s.lock(ctx, volume); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// lock waits until no other process holds the lock on volume. It continues without a lock if the file system cannot lock
// directories, as NFS cannot.
func (s *Seeder) lock(ctx context.Context, volume *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, s.RetryFor)
	defer cancel()
	for waits := false; ; waits = true {
		err := syscall.Flock(int(volume.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			s.Log.Info("the file system cannot lock the volume; continuing without a lock", "volume", volume.Name(), "error", err.Error())
			return nil
		}
		if !waits {
			s.Log.Info("another seed is using this volume; waiting until it ends", "volume", volume.Name())
		}
		select {
		case <-time.After(lockInterval):
		case <-ctx.Done():
			return fmt.Errorf("another seed has been using the volume %s for more than %s: check whether a force-deleted Pod still runs on the node", volume.Name(), s.RetryFor)
		}
	}
}
