package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (
	// drainGrace is how long an upload may take after the watch has ended, before the members are asked whether they still have the
	// changes. drainPoll is how often they are asked.
	drainGrace = 2 * time.Second
	drainPoll  = time.Second
	// stopTimeout limits the uploads of an archiver that is stopped. It is below the time that Kubernetes gives to a Pod.
	stopTimeout = 10 * time.Second
	// lastAuthTimeout limits the last reading of the state of authentication. An archiver that is stopped usually leaves members that answer.
	lastAuthTimeout = time.Second
)

// end stores what the session has received, and ends its uploads. If the cluster is lost, the spool may have the only copy of the last
// changes. err is why the session has ended. If it is errCompacted, a gap follows.
func (s *session) end(ctx context.Context, err error) error {
	defer s.uploads.cancel()
	if errors.Is(err, errCompacted) || errors.Is(err, errReplaced) {
		// The cluster does not have these changes any more, so they are stored first.
		if stored := s.flush(ctx); stored != nil {
			return stored
		}
		limited, cancel := s.stopLimit(ctx)
		defer cancel()
		if stored := s.uploads.finish(limited); stored != nil {
			return stored
		}
		if errors.Is(err, errReplaced) {
			return again(nil, "the members returned another cluster ID")
		}
		return s.a.gap(ctx, s.chain, s.a.compacted)
	}
	if failed := s.flush(ctx); failed != nil {
		err = fmt.Errorf("%w; and the last changes were not sealed: %s", err, failed.Error())
	}
	limited, cancel := s.drainLimit(ctx)
	defer cancel()
	return errors.Join(err, ignoreEnd(s.uploads.finish(limited)))
}

// ErrRecovery is the cause with which the context of Run ends, if the cluster is recovered from a lost quorum. The archiver then waits for the
// store without a limit, until Options.Hurry is closed.
var ErrRecovery = errors.New("the cluster is recovered from a lost quorum")

// errReplaced ends a session whose watch belongs to another cluster now.
var errReplaced = errors.New("the watch returns another cluster ID")

// drainLimit returns a context that ends when there is no reason any more to wait for the store: the members still return all changes, or the
// archiver was stopped and the time for that is over.
func (s *session) drainLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go panics.Caught(func() {
		defer cancel()
		wait := drainGrace
		for {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-limited.Done():
				timer.Stop()
				return
			case <-ctx.Done():
				timer.Stop()
				s.drainStopped(ctx, limited)
				return
			}
			in, err := panics.Try(func() (bool, error) { return s.inCluster(ctx), nil })
			if in && err == nil {
				return
			}
			wait = drainPoll
		}
	}, func(error) {})()
	return limited, cancel
}

// stopLimit returns a context that ends when the archiver was stopped and the time for its uploads is over.
func (s *session) stopLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer cancel()
		select {
		case <-ctx.Done():
			s.drainStopped(ctx, limited)
		case <-limited.Done():
		}
	}()
	return limited, cancel
}

// drainStopped waits until limited ends, or the time for the uploads of a stopped archiver is over.
func (s *session) drainStopped(ctx, limited context.Context) {
	s.drainRecovered(ctx, limited)
	stopped, end := context.WithTimeout(limited, stopTimeout)
	defer end()
	<-stopped.Done()
}

// drainRecovered waits until limited or Hurry ends, if the archiver was stopped because its cluster is recovered from a lost quorum. The
// spool may have the only copy of the last changes, and the recovered cluster may have others at the same revisions.
func (s *session) drainRecovered(ctx, limited context.Context) {
	if !errors.Is(context.Cause(ctx), ErrRecovery) {
		return
	}
	select {
	case <-limited.Done():
	case <-s.a.Hurry:
	}
}

// inCluster reports whether the members still return all revisions that were received and are not stored.
func (s *session) inCluster(ctx context.Context) bool {
	head, err := s.a.Cluster.Head(ctx)
	if err != nil || head.ClusterID != s.a.clusterID || head.Revision < s.chain.Last {
		return false
	}
	if s.a.SameHistory != nil && s.a.SameHistory(ctx) != nil {
		return false
	}
	return s.readable(ctx)
}

// readable opens the watch that the next session would open. If etcd was compacted beyond what is stored, the spool has the only copy of the
// changes in between.
func (s *session) readable(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, rereadTimeout)
	defer cancel()
	stream, err := s.a.Cluster.Watch(limited, s.a.Status().Stored.Revision)
	for err == nil {
		var r Response
		if r, err = stream.Receive(); err == nil && (r.Compacted > 0 || len(r.Events) > 0) {
			r.release()
			return r.Compacted == 0
		}
	}
	return limited.Err() == nil // the next session reports any other error
}
