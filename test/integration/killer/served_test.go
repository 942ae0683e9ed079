package killer_test

import (
	"context"
	"sync"
	"time"
)

// servedWithin is how long clients may wait after the operator has returned from a kill (the promise of a restore's fence).
const servedWithin = time.Minute

// served watches whether a member that the client Service selects takes writes. A fence that a kill left behind would refuse them without an end.
type served struct {
	b    *bench
	mu   sync.Mutex
	last time.Time // a write was taken then, or the operator was killed
	most time.Duration
}

// watch probes until the function that it returns is called. That one fails the test if clients had to wait for too long.
func (s *served) watch() (stop func()) {
	ctx, cancel := context.WithCancel(s.b.Context())
	ended := make(chan struct{})
	s.last = time.Now()
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			s.saw(s.b.traffic.takesWrites(ctx))
			pause(ctx, 100*time.Millisecond)
		}
	}()
	return func() {
		s.b.Helper()
		cancel()
		<-ended
		s.b.Logf("after a kill, clients waited at most %s for a member that takes writes", s.most.Round(10*time.Millisecond))
		if s.most > servedWithin {
			s.b.Errorf("no member took a write for %s after the operator had returned, expected at most %s", s.most, servedWithin)
		}
	}
}

func (s *served) saw(takes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = max(s.most, time.Since(s.last))
	if takes {
		s.last = time.Now()
	}
}

// killed begins the time again, because the operator returns now.
func (s *served) killed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// takesWrites reports whether a member that the client Service selects takes a write that changes nothing: etcd refuses it behind a fence, too.
func (c *traffic) takesWrites(ctx context.Context) bool {
	for _, pod := range c.selected(ctx) {
		if c.post(ctx, pod, "kv/deleterange", map[string]any{"key": []byte("no such key")}, nil) == nil {
			return true
		}
	}
	return false
}
