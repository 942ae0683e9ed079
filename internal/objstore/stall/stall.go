// Package stall cancels HTTP requests that make no progress. Without it, a request on a connection that stays open but
// transfers nothing would never end. A cancelled request fails with an error that the SDKs of the stores retry. A slow
// request is never cancelled as long as it transfers bytes.
package stall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// DefaultLimit is how long a request may transfer nothing.
const DefaultLimit = time.Minute

// Error is the error of a cancelled request. As a net.Error it is temporary.
type Error struct{ Limit time.Duration }

func (e *Error) Error() string {
	return fmt.Sprintf("the request to the store made no progress for %s", e.Limit)
}

// Timeout returns true.
func (e *Error) Timeout() bool { return true }

// Temporary returns true.
func (e *Error) Temporary() bool { return true }

// Sender sends a request, as an http.RoundTripper or an http.Client does.
type Sender func(*http.Request) (*http.Response, error)

// Transport cancels requests that transfer nothing for longer than Limit. If Limit is nil, it is DefaultLimit.
type Transport struct {
	Send  Sender
	Limit func(*http.Request) time.Duration
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.Do(r) }

// Do sends r and returns its response.
func (t Transport) Do(r *http.Request) (*http.Response, error) {
	limit := DefaultLimit
	if t.Limit != nil {
		limit = t.Limit(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	silent := &Error{limit}
	w := &watch{ctx: ctx, limit: limit, end: cancel, timer: time.AfterFunc(limit, func() { cancel(silent) })}
	response, err := t.Send(w.request(r))
	w.timer.Stop()
	if err != nil {
		defer cancel(nil)
		return nil, w.cause(err)
	}
	response.Body = &answer{response.Body, w}
	return response, nil
}

// watch holds the timer of one request.
type watch struct {
	ctx   context.Context
	limit time.Duration
	timer *time.Timer
	end   context.CancelCauseFunc
}

// request returns r with a body that restarts the timer on each read.
func (w *watch) request(r *http.Request) *http.Request {
	r = r.WithContext(w.ctx)
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	r.Body = &sent{r.Body, w}
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return &sent{body, w}, nil
		}
	}
	return r
}

// cause returns the stall Error if the request was cancelled for that, and otherwise err.
func (w *watch) cause(err error) error {
	var silent *Error
	if errors.As(context.Cause(w.ctx), &silent) {
		return silent
	}
	return err
}

// sent is a request body. Its last bytes may be read after the response has begun.
type sent struct {
	io.ReadCloser
	watch *watch
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.watch.timer.Stop() {
		s.watch.timer.Reset(s.watch.limit)
	}
	return n, err
}

// answer is a response body. The timer only runs during reads, so that a slow reader does not cancel the request.
type answer struct {
	io.ReadCloser
	watch *watch
}

func (a *answer) Read(p []byte) (int, error) {
	a.watch.timer.Reset(a.watch.limit)
	n, err := a.ReadCloser.Read(p)
	a.watch.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.watch.cause(err)
	}
	return n, err
}

func (a *answer) Close() error {
	defer a.watch.end(nil)
	a.watch.timer.Stop()
	return a.ReadCloser.Close()
}
