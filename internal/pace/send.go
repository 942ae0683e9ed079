package pace

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// Sending measures one request that sends a body. The time counts until the answer, without that in which the request waits for the body
// itself: the bytes may come from a member, or wait for the check of a database. A nil Sending measures nothing.
type Sending struct {
	meter   *meter // may be nil
	counter *Counter

	mu      sync.Mutex
	reading int // how many reads of the body wait now; an HTTP client may read on after the answer
	ended   bool
}

// Counter counts the bytes that requests send.
type Counter struct{ bytes atomic.Int64 }

// Bytes returns how many were sent.
func (c *Counter) Bytes() int64 { return c.bytes.Load() }

type counterKey struct{}

// Counted returns a context whose requests are counted.
func Counted(ctx context.Context) (context.Context, *Counter) {
	c := &Counter{}
	return context.WithValue(ctx, counterKey{}, c), c
}

// Send begins a request. The transport of all stores calls it, so no way to send is outside of the measurement: neither a retry, nor a part
// that is read from a disk. It returns nil if the context is neither from With nor from Counted.
func Send(ctx context.Context) *Sending {
	m, measured := ctx.Value(key{}).(measures)
	counter, _ := ctx.Value(counterKey{}).(*Counter)
	switch {
	case measured:
		m.sent.add(0, 1)
		m.sent.wait()
	case counter == nil:
		return nil
	}
	return &Sending{meter: m.sent, counter: counter}
}

// End ends the request: it has an answer, or has failed.
func (s *Sending) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && s.reading == 0 && s.meter != nil {
		s.meter.done(0)
	}
	s.ended = true
}

// Body returns the body of the request, whose bytes are counted.
func (s *Sending) Body(body io.ReadCloser) io.ReadCloser {
	if s == nil {
		return body
	}
	return &sentBody{body, s}
}

type sentBody struct {
	io.ReadCloser
	of *Sending
}

func (b *sentBody) Read(p []byte) (n int, err error) {
	b.of.read(1, 0)
	defer func() { b.of.read(-1, int64(n)) }()
	return b.ReadCloser.Read(p)
}

// read records that a read of the body begins (1) or ends (-1).
func (s *Sending) read(change int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.reading
	s.reading += change
	if s.counter != nil {
		s.counter.bytes.Add(bytes)
	}
	if s.meter == nil {
		return
	}
	s.meter.add(bytes, 0)
	switch {
	case s.ended:
	case before == 0:
		s.meter.done(0)
	case s.reading == 0:
		s.meter.wait()
	}
}
