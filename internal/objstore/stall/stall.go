// Package stall ends HTTP requests that have gone silent. A connection that stays open and says nothing would hold a
// request for ever; with this it fails after a while with an error that the stores' SDKs try again. However slow, a
// request that goes on is never ended.
package stall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// DefaultLimit is how long a store may be silent.
const DefaultLimit = time.Minute

// Error says that a request was ended. It is one that may pass, in the words of net.Error.
type Error struct{ Limit time.Duration }

func (e *Error) Error() string { return fmt.Sprintf("the store was silent for %s", e.Limit) }

// Timeout and Temporary are true.
func (e *Error) Timeout() bool { return true }

// Temporary is true.
func (e *Error) Temporary() bool { return true }

// Sender sends a request, as an http.RoundTripper or an http.Client does.
type Sender func(*http.Request) (*http.Response, error)

// Transport ends what is silent for longer than Limit says, DefaultLimit where that is nil.
type Transport struct {
	Send  Sender
	Limit func(*http.Request) time.Duration
}

// RoundTrip is for an http.Client.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.Do(r) }

// Do sends r.
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

// watch is one request.
type watch struct {
	ctx   context.Context
	limit time.Duration
	timer *time.Timer
	end   context.CancelCauseFunc
}

// request is r with a body whose reading shows that it goes on.
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

// cause is the silence where it was that.
func (w *watch) cause(err error) error {
	var silent *Error
	if errors.As(context.Cause(w.ctx), &silent) {
		return silent
	}
	return err
}

// sent is a body on its way to the store. Its last bytes may be read after the answer has begun.
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

// answer is a body on its way from the store. Only waiting for it counts, and not what its reader does meanwhile.
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
