package stall

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pace"
)

// sending measures a request with a body.
func sending(r *http.Request) *pace.Sending {
	if !hasBody(r) || r.Context().Value(preparedKey{}) != nil {
		return nil
	}
	return pace.Send(r.Context())
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

type preparedKey struct{}

// Prepared marks the context of requests whose answer the store prepares for minutes, although they send little. What they send is not
// measured.
func Prepared(ctx context.Context) context.Context {
	return context.WithValue(ctx, preparedKey{}, true)
}

// request returns r with a body that restarts the timer on each read.
func (w *watch) request(r *http.Request) *http.Request {
	r = r.WithContext(w.ctx)
	if !hasBody(r) {
		return r
	}
	w.body = &sent{body: w.sending.Body(r.Body), watch: w}
	r.Body = w.body
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			w.body.leave()
			body, err := again()
			if err != nil {
				return nil, err
			}
			w.body = &sent{body: w.sending.Body(body), watch: w}
			return w.body, nil
		}
	}
	return r
}

// sent is the body of one attempt of a request. A client of HTTP may read it in a goroutine of its own after it has returned the answer or an
// error. But the SDK then seeks in the same body for the next attempt, or the caller fills the same buffer with the next part. So an attempt
// that was left reads nothing more.
type sent struct {
	body  io.ReadCloser
	watch *watch

	left    atomic.Bool
	reading sync.Mutex
}

// Read returns io.EOF after leave: the request then fails if it has announced more bytes.
func (s *sent) Read(p []byte) (int, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.left.Load() {
		return 0, io.EOF
	}
	n, err := s.body.Read(p)
	if s.watch.timer.Stop() {
		s.watch.timer.Reset(s.watch.limit)
	}
	return n, err
}

// Close waits for no read, because a client also ends a read with it.
func (s *sent) Close() error { return s.body.Close() }

// leave waits for a read that runs, and no other one begins. The bodies of the stores are in memory, or end with the context of their caller.
func (s *sent) leave() {
	if s == nil {
		return
	}
	s.left.Store(true)
	s.reading.Lock()
	defer s.reading.Unlock()
}

// watch holds the timer of one request.
type watch struct {
	ctx   context.Context
	limit time.Duration
	timer *time.Timer
	end   context.CancelCauseFunc
	// sending measures what the request sends. It is nil if that is not measured.
	sending *pace.Sending
	// body is what the request reads now.
	body *sent
}
