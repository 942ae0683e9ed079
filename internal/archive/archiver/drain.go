package archiver

import (
	"context"
	"errors"
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
)

// ErrRecovery is the cause with which the context of Run ends, if the cluster is recovered from a lost quorum. The archiver then waits for the
// store without a limit, until Options.Hurry is closed.
var ErrRecovery = errors.New("the cluster is recovered from a lost quorum")

// drain waits for the uploads of a session that has ended.
type drain struct {
	a    *Archiver
	last int64 // revision that was received and sealed
}

// limit returns a context that ends when there is no reason any more to wait for the store: the members still return all changes, or the
// archiver was stopped and the time for that is over.
func (d drain) limit(ctx context.Context) (context.Context, context.CancelFunc) {
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
				d.stopped(ctx, limited)
				return
			}
			in, err := panics.Try(func() (bool, error) { return d.inCluster(ctx), nil })
			if in && err == nil {
				return
			}
			wait = drainPoll
		}
	}, func(error) {})()
	return limited, cancel
}

// stopLimit returns a context that ends when the archiver was stopped and the time for its uploads is over.
func (d drain) stopLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer cancel()
		select {
		case <-ctx.Done():
			d.stopped(ctx, limited)
		case <-limited.Done():
		}
	}()
	return limited, cancel
}

// stopped waits until limited ends, or the time for the uploads of a stopped archiver is over.
func (d drain) stopped(ctx, limited context.Context) {
	d.recovered(ctx, limited)
	stopped, end := context.WithTimeout(limited, stopTimeout)
	defer end()
	<-stopped.Done()
}

// recovered waits until limited or Hurry ends, if the archiver was stopped because its cluster is recovered from a lost quorum. The
// spool may have the only copy of the last changes, and the recovered cluster may have others at the same revisions.
func (d drain) recovered(ctx, limited context.Context) {
	if !errors.Is(context.Cause(ctx), ErrRecovery) {
		return
	}
	select {
	case <-limited.Done():
	case <-d.a.Hurry:
	}
}

// inCluster reports whether the members still return all revisions that were received and are not stored.
func (d drain) inCluster(ctx context.Context) bool {
	head, err := d.a.Cluster.Head(ctx)
	if err != nil || head.ClusterID != d.a.clusterID || head.Revision < d.last {
		return false
	}
	if d.a.SameHistory != nil && d.a.SameHistory(ctx) != nil {
		return false
	}
	return d.readable(ctx)
}

// readable opens the watch that the next session would open. If etcd was compacted beyond what is stored, the spool has the only copy of the
// changes in between.
func (d drain) readable(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, rereadTimeout)
	defer cancel()
	stream, err := d.a.Cluster.Watch(limited, d.a.Status().Stored.Revision)
	for err == nil {
		var r Response
		if r, err = stream.Receive(); err == nil && (r.Compacted > 0 || len(r.Events) > 0) {
			r.release()
			return r.Compacted == 0
		}
	}
	return limited.Err() == nil // the next session reports any other error
}
