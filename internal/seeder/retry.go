package seeder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// Code is the exit code for the error that Seed returned.
func Code(err error) int {
	switch {
	case err == nil:
		return seed.ExitDone
	case never(err):
		return seed.ExitNever
	}
	return seed.ExitRetry
}

// never says whether the same request would fail the same way again.
func never(err error) bool {
	return errors.Is(err, errArguments) || errors.Is(err, ErrMismatch) || source.Final(err)
}

const (
	firstPause = time.Second
	lastPause  = 15 * time.Second
)

// retry runs try until it succeeds, can never, or has been failing for s.RetryFor.
func (s *Seeder) retry(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, s.RetryFor)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := try()
		if err == nil || never(err) {
			return err
		}
		s.Log.Info("it did not work: trying again", "error", err.Error(), "in", pause.String())
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("gave up after %s: %w", s.RetryFor, err)
		}
	}
}
