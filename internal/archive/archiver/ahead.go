package archiver

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// maxAhead is how many small responses of the watch are read while the session waits for the state of authentication.
const maxAhead = 16

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

// readsAhead returns whether a response of the watch may be read now, and requests one. A large one counts in the memory of all archives until it was
// handled, so no other follows it.
func (s *session) readsAhead() bool {
	n := len(s.ahead)
	if s.responses == nil || s.ended || n == maxAhead || n > 0 && s.ahead[n-1].Release != nil {
		return false
	}
	return s.request()
}

// read notes a response. It is handled after those before it, and when the store has room for it.
func (s *session) read(r received) {
	s.reading, s.ended = false, r.err != nil
	s.ahead = append(s.ahead, r)
}

// request requests a response of the watch, unless the store has to catch up first. It returns whether one is requested.
func (s *session) request() bool {
	if !s.reading && !s.uploads.full() {
		s.wanted <- struct{}{}
		s.reading = true
	}
	return s.reading
}

// drop returns the memory of what was read ahead and is not handled any more. The next session reads it again.
func (s *session) drop() {
	for _, r := range s.ahead {
		r.release()
	}
	s.ahead, s.responses = nil, nil
}
