package seeder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// following is a Seeder while it follows an archive with one Secret.
type following struct {
	*Seeder
	request seed.Request
	options standby.Options
	// users is the state of authentication of a source that has stopped. The standby begins again from the snapshot with it.
	users atomic.Pointer[auth.State]
}

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

// awaitEnd ends the following when the annotation of the Pod asks for the promotion, and there is something to promote. It also ends it when the Secret has other
// credentials. A standby continues with those of a Secret that was removed.
func (s *following) awaitEnd(ctx context.Context, end context.CancelCauseFunc) {
	ticker := time.NewTicker(promotePoll)
	defer ticker.Stop()
	for {
		if s.promotionAsked() == v1beta2.FollowPromoteNow && s.progress.hasBase() {
			end(errPromoted)
			return
		}
		if now, err := mounted(s.CredentialsDir, s.request.Source.Secret); err == nil && len(now) > 0 && !maps.EqualFunc(now, s.secret, bytes.Equal) {
			end(errSecretChanged)
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
