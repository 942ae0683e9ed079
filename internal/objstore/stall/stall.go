// Package stall cancels HTTP requests that make no progress, and recognises answers that no store wrote. Without it, a request
// on a connection that stays open but transfers nothing would never end. A cancelled request fails with an error that the SDKs
// of the stores retry. A slow request is never cancelled as long as it transfers bytes.
//
// It measures what each request sends, including retries, for package pace.
//
// It also bounds each answer that is not an object, because the SDKs read such an answer into memory, and counts the requests of a listing.
package stall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// DefaultLimit is how long a request may transfer nothing.
const DefaultLimit = time.Minute

// Error is the error of a cancelled request. As a net.Error it is temporary.
type Error struct{ Limit time.Duration }

func (e *Error) Error() string {
	return fmt.Sprintf("the request to the store made no progress for %s", e.Limit)
}

// OwnWords marks the text as one that repeats no answer.
func (e *Error) OwnWords() {}

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
	// JSON means that answers are JSON and not XML.
	JSON bool
	// DecodesLater means that the SDK closes an answer before it decodes it.
	DecodesLater bool
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.Do(r) }

// Do sends r and returns its response.
func (t Transport) Do(r *http.Request) (*http.Response, error) {
	if err := objstore.CountRequest(r.Context()); err != nil {
		return nil, err
	}
	limit := DefaultLimit
	if t.Limit != nil {
		limit = t.Limit(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	silent := &Error{limit}
	w := &watch{ctx: ctx, limit: limit, end: cancel, timer: time.AfterFunc(limit, func() { cancel(silent) }), sending: sending(r)}
	response, err := t.Send(w.request(r))
	w.sending.End()
	if w.timer.Stop() { // the store has answered
		w.body.leave()
		w.timer.Reset(limit)
	} else {
		w.body.leave()
	}
	var page error
	if err == nil {
		page = pageIn(r, response) // the timer runs on
	}
	w.timer.Stop()
	if err != nil {
		defer cancel(nil)
		return nil, w.cause(err)
	}
	if page != nil {
		_ = response.Body.Close()
		defer cancel(nil)
		return nil, page
	}
	// An error ends the turn when it is closed, because the SDK may pause then before it tries again. Its elements are few.
	later := t.DecodesLater && response.StatusCode < http.StatusMultipleChoices
	response.Body = objstore.WholePage(r.Context(), &answer{response.Body, w, t.boundOf(r, response.StatusCode)}, later)
	return response, nil
}

// pageIn returns an error if the answer is a web page. Otherwise the body of the response is whole.
func pageIn(r *http.Request, response *http.Response) error {
	if response.StatusCode < http.StatusBadRequest || response.Body == nil || r.Method == http.MethodHead {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(response.Body, objstore.HeadOfAnswer))
	if page := objstore.PageIn(response.StatusCode, head); page != nil {
		return page
	}
	rest := io.Reader(response.Body)
	if err != nil {
		rest = failing{err}
	}
	response.Body = wholeBody{io.MultiReader(bytes.NewReader(head), rest), response.Body}
	return nil
}

type wholeBody struct {
	io.Reader
	io.Closer
}

// failing repeats the error of a body.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// cause returns the stall Error if the request was cancelled for that, and otherwise err.
func (w *watch) cause(err error) error {
	var silent *Error
	if errors.As(context.Cause(w.ctx), &silent) {
		return silent
	}
	return err
}

// answer is a response body. The timer only runs during reads, so that a slow reader does not cancel the request.
type answer struct {
	io.ReadCloser
	watch *watch
	left  *bound
}

func (a *answer) Read(p []byte) (int, error) {
	a.watch.timer.Reset(a.watch.limit)
	n, err := a.ReadCloser.Read(p)
	a.watch.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.watch.cause(err)
	}
	return a.left.count(p[:n], err)
}

func (a *answer) Close() error {
	defer a.watch.end(nil)
	a.watch.timer.Stop()
	return a.ReadCloser.Close()
}

func (t Transport) boundOf(r *http.Request, status int) *bound {
	switch {
	case status >= http.StatusMultipleChoices:
		return &bound{MaxRefusal, MaxRefusal, entries{json: t.JSON, few: true}}
	case r.Method == http.MethodGet && r.Context().Value(objectKey{}) != nil:
		return nil
	}
	return &bound{MaxAnswer, MaxAnswer, entries{json: t.JSON, few: r.Method != http.MethodGet}}
}
