package seeder

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// untilPromoted follows until the promotion is asked for. It returns at once if the promotion has begun. The error is errSecretChanged if the Secret changes before that.
func (s *following) untilPromoted(ctx context.Context) error {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(followMemory))
	s.options.Users = s.users.Load
	f, err := standby.Open(s.options)
	if errors.Is(err, standby.ErrFinished) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the database of the standby: %w: %w", source.ErrDisk, err)
	}
	s.Log.Info("following the archive", "root", s.options.Root, "revision", f.Status().Revision)
	for err = errNotClaimed; errors.Is(err, errNotClaimed); {
		err = s.run(ctx, f)
		if errors.Is(err, errStopped) {
			err = s.claim(ctx, f)
		}
	}
	if errors.Is(err, errPromoted) {
		s.catchUp(ctx, f)
		err = ctx.Err()
	}
	if closing := f.Close(); closing != nil {
		return fmt.Errorf("close the database of the standby: %w: %w", source.ErrDisk, closing)
	}
	if err != nil {
		return fmt.Errorf("follow the archive: %w", err)
	}
	return nil
}

// run follows until ctx ends, until the promotion is asked for, which is errPromoted, until the source has stopped, which is errStopped, or until the Secret changes,
// which is errSecretChanged.
func (s *following) run(ctx context.Context, f *standby.Follower) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.awaitEnd(ctx, cancel)
	go panics.Caught(func() { s.awaitSource(ctx, cancel) }, cancel)()
	return f.Run(ctx)
}

// followMemory is the soft limit of the memory while a standby follows.
const followMemory = 40 << 20
