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

// claimPause is between two looks at a claim of another run.
const claimPause = 100 * time.Millisecond

// claim keeps every other run off the volume of dir until release is called or this process ends. A run whose Pod was
// deleted by force is at work until its kubelet has ended it, and the Pod that replaces it may begin before that: each
// would remove what the other has made, or put it in place half made.
func (s *Seeder) claim(ctx context.Context, dir string) (release func(), err error) {
	place, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the volume: %w: %w", source.ErrDisk, err)
	}
	release = func() { _ = place.Close() } // and with it the lock goes
	if err := s.lock(ctx, place); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// lock waits for whoever has the lock on place. A file system that does not lock directories, such as NFS, is used without.
func (s *Seeder) lock(ctx context.Context, place *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, s.RetryFor)
	defer cancel()
	for waits := false; ; waits = true {
		err := syscall.Flock(int(place.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			s.Log.Info("the volume cannot be locked: no other run is waited for", "volume", place.Name(), "error", err.Error())
			return nil
		}
		if !waits {
			s.Log.Info("another seed is at work on this volume: waiting for its end", "volume", place.Name())
		}
		select {
		case <-time.After(claimPause):
		case <-ctx.Done():
			return fmt.Errorf("another seed has been at work on the volume %s for %s: look for a Pod that was deleted by force", place.Name(), s.RetryFor)
		}
	}
}
