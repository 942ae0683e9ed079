package pace

import (
	"context"
	"io"
	"sync"
)

// Sending measures one request that sends a body. The time counts until the answer, without that in which the request waits for the body
// itself: the bytes may come from a member, or wait for the check of a database. A nil Sending measures nothing.
type Sending struct {
	meter *meter

	mu      sync.Mutex
	reading int // how many reads of the body wait now; an HTTP client may read on after the answer
	ended   bool
}

// Send begins a request. The transport of all stores calls it, so no way to send is outside of the measurement: neither a retry, nor a part
// that is read from a disk. It returns nil if the context is not from With.
func Send(ctx context.Context) *Sending {
	m, measured := ctx.Value(key{}).(measures)
	if !measured {
		return nil
	}
	m.sent.add(0, 1)
	m.sent.wait()
	return &Sending{meter: m.sent}
}

// End ends the request: it has an answer, or has failed.
func (s *Sending) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && s.reading == 0 {
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
	s.meter.add(bytes, 0)
	switch {
	case s.ended:
	case before == 0:
		s.meter.done(0)
	case s.reading == 0:
		s.meter.wait()
	}
}
