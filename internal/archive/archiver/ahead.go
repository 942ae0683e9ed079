package archiver

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// answeredAuth is the state of authentication, or why it is not known.
type answeredAuth struct {
	auth.State
	err error
}

// askAuth reads the state of authentication, and the watch beside that. Members that stop may accept the request and never answer it. They end the watch,
// too, and then the session ends anyway: so the changes that it has need not wait for the answer as long as for that of a slow member.
func (s *session) askAuth(ctx context.Context) (auth.State, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answeredAuth, 1)
	go panics.Caught(func() {
		now, err := s.a.Cluster.Auth(ctx, s.a.clusterID)
		answers <- answeredAuth{now, err}
	}, func(err error) { answers <- answeredAuth{err: err} })()
	last := time.NewTimer(lastAuthTimeout)
	defer last.Stop()
	for {
		var responses <-chan received
		if s.readsAhead() {
			responses = s.responses
		}
		var late <-chan time.Time
		if s.ended {
			late = last.C
		}
		select {
		case answer := <-answers:
			return answer.State, answer.err
		case next := <-responses:
			s.read(next)
			last.Reset(lastAuthTimeout)
		case <-late:
			cancel()
		}
	}
}

// lastAuthTimeout limits the last reading of the state of authentication. An archiver that is stopped usually leaves members that answer.
const lastAuthTimeout = time.Second
