package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// stream is a watch.
type stream struct {
	client *Client
	ctx    context.Context //nolint:containedctx // it is that of the watch, of which Receive is a part
	end    context.CancelCauseFunc
	from   int64
	call   *call // nil before the first Receive
	// response is what all events of the message have in common.
	response archiver.Response
}

var errSlow = fmt.Errorf("a member has not sent a large change within %s", largeTimeout)

// Receive returns the next response. It has some of the events of a message. As in etcd's own fragments, More is set until the last of them.
func (s *stream) Receive() (archiver.Response, error) {
	response, err := s.receive()
	if err != nil {
		s.end(err) // it closes the connection
		return archiver.Response{}, fmt.Errorf("watch etcd at %s: %w", s.client.endpoints(), err)
	}
	return response, nil
}

func (s *stream) receive() (r archiver.Response, err error) {
	if s.call == nil {
		if s.call, err = s.client.open(s.ctx, s.from); err != nil {
			return r, err
		}
	}
	if !s.call.more() {
		if err = s.begin(); err != nil {
			return r, s.failed(err)
		}
	}
	var large admitted
	events, err := s.call.next(func(bytes int64) (err error) { large, err = s.admit(bytes); return err })
	large.sent()
	if err != nil {
		large.release()
		return r, s.failed(err)
	}
	r = s.response
	r.Events, r.More, r.Release = events, r.More || s.call.more(), large.release
	return r, nil
}

// begin waits for the next message.
func (s *stream) begin() error {
	outer, err := s.call.begin()
	if err != nil {
		return err
	}
	s.response = archiver.Response{Head: headOf(outer.Header), More: outer.Fragment, Compacted: outer.CompactRevision}
	if outer.Canceled && outer.CompactRevision == 0 {
		return cancelled(etcd.Words(outer.CancelReason))
	}
	return nil
}

// cancelled is the reason of a watch that etcd has cancelled.
type cancelled string

func (c cancelled) Error() string { return "etcd has cancelled the watch: " + string(c) }

func (s *stream) failed(err error) error {
	var known cancelled
	var full *memoryError
	if errors.As(err, &known) || errors.As(err, &full) {
		return err
	}
	return s.call.failed(s.ctx, err)
}

// memoryError is why a large change got no memory.
type memoryError struct{ error }

func (m *memoryError) Unwrap() error { return m.error }

// admitted is the memory of a large change. The zero value is that of a small one, which needs no admission.
type admitted struct {
	slow *time.Timer
	free func()
}

// sent records that the member has sent the change.
func (a admitted) sent() {
	if a.slow != nil {
		a.slow.Stop()
	}
}

func (a admitted) release() {
	if a.free != nil {
		a.free()
	}
}

// admit waits until the memory of a large change is free. The member must then send the change in time.
func (s *stream) admit(bytes int64) (admitted, error) {
	if s.client.options.Memory == nil {
		return admitted{}, nil
	}
	free, err := s.client.options.Memory(s.ctx, copies*bytes)
	if err != nil {
		return admitted{}, &memoryError{err}
	}
	once := sync.OnceFunc(free)
	unhook := context.AfterFunc(s.ctx, panics.Caught(once, func(error) {}))
	return admitted{
		slow: time.AfterFunc(largeTimeout, panics.Caught(func() { s.end(errSlow) }, func(error) {})),
		free: func() { unhook(); once() },
	}, nil
}

// Watch opens a watch on all keys from a revision. It ends with ctx. Its first Receive connects to a member.
func (c *Client) Watch(ctx context.Context, from int64) (archiver.Stream, error) {
	ctx, end := context.WithCancelCause(ctx)
	return &stream{client: c, ctx: ctx, end: end, from: from}, nil
}

// Permitted fails if the members refuse what an archiver reads: the revision, the state of authentication, and a watch on all keys.
func (c *Client) Permitted(ctx context.Context) error {
	if _, err := c.Head(ctx); err != nil {
		return err
	}
	if _, err := c.Auth(ctx, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := c.Watch(ctx, 0)
	if err != nil {
		return err
	}
	_, err = stream.Receive() // a member answers the request itself, before any change
	return err
}
