package seeder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/datadir"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// Code returns the exit code for an error of Seed.
func Code(err error) int {
	switch {
	case err == nil:
		return seed.ExitDone
	case permanent(err):
		return seed.ExitNever
	}
	return seed.ExitRetry
}

// permanent reports whether a retry of the same request would fail in the same way.
func permanent(err error) bool {
	return errors.Is(err, errArguments) || errors.Is(err, errDataMissing) || errors.Is(err, ErrMismatch) || errors.Is(err, datadir.ErrRefused) || source.Final(err)
}

const (
	firstBackoff = time.Second
	maxBackoff   = 15 * time.Second
	// maxDownloads limits how often a download that breaks off again and again begins anew. Then the kubelet restarts the
	// container, which cluster-operator counts.
	maxDownloads = 10
)

// retry runs try until it succeeds, fails permanently, or has failed for s.RetryFor. That time begins again after a try that
// has read a part of the snapshot, because a large one takes longer than s.RetryFor.
func (s *Seeder) retry(ctx context.Context, try func() error) error {
	end, downloads := time.Now().Add(s.RetryFor), 0
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		s.progress.began()
		err := try()
		if err == nil || permanent(err) {
			return err
		}
		if s.progress.read() && downloads < maxDownloads {
			end, downloads, backoff = time.Now().Add(s.RetryFor), downloads+1, firstBackoff
		}
		if time.Now().Add(backoff).After(end) {
			return fmt.Errorf("giving up after %s: %w", s.RetryFor, err)
		}
		s.Log.Info("cannot fetch the snapshot; trying again", "error", err.Error(), "in", backoff.String())
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return err
		}
	}
}
