package seeder

import (
	"cmp"
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
)

const (
	// catchUpLimit is how long one link may take after the promotion was asked for, and baseLimit is how long a base, or all of it, may take.
	catchUpLimit, baseLimit = 30 * time.Second, time.Hour
	// A store that fails is asked again each catchUpPause until catchUpPatience has passed since it returned something. It may only restart, and what it has is lost if it
	// is not read now.
	catchUpPatience, catchUpPause = 10 * time.Second, time.Second
	// brokenRetries is how often a standby looks again for a newer base if it cannot follow the archive.
	brokenRetries = 2
)

// catchUp applies what the archive still has, so that a promotion loses nothing that is in the store. It ends if the store does not answer, or if the archive cannot be
// followed any further.
func (s *Seeder) catchUp(ctx context.Context, f *standby.Follower) {
	limit := cmp.Or(s.catchUpLimit, catchUpLimit)
	ctx, cancel := context.WithTimeout(ctx, baseLimit)
	defer cancel()
	timer := time.AfterFunc(limit, cancel)
	defer timer.Stop()
	s.baseComes = func() { timer.Reset(baseLimit) }
	for answered, broken, looked := time.Now(), 0, false; ; {
		done, err := f.Step(ctx)
		switch {
		case err == nil && done != standby.Idle:
			answered, broken, looked = time.Now(), 0, false
			timer.Reset(limit)
		case err == nil && looked:
			return
		case err == nil: // the archive may have another timeline since the last listing
			f.LookAgain()
			answered, looked = time.Now(), true
		case ctx.Err() != nil, broken == brokenRetries, time.Since(answered) > catchUpPatience:
			s.Log.Info("the promotion continues with what the standby has", "revision", f.Status().Revision, "error", err.Error())
			return
		default:
			if standby.IsBroken(err) != nil {
				broken++
			}
			pause(ctx, catchUpPause)
		}
	}
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, of time.Duration) {
	timer := time.NewTimer(of)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
