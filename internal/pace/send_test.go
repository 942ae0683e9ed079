package pace_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pace"
)

// late is a body whose source sends after a pause.
type late struct{ pause time.Duration }

func (l late) Read(p []byte) (int, error) {
	<-time.After(l.pause)
	return len(p), nil
}

func (late) Close() error { return nil }

// An upload waits for its source, for example for the check of a large database. Its store was not slow, so the attempt must not end: the
// snapshot would never be stored.
func TestATransferIsOnlySlowWhileItWaitsForTheStore(t *testing.T) {
	for name, test := range map[string]struct {
		source, store time.Duration // for each 64 KiB
		requests      int           // at the same time
		slow          bool
	}{
		"the source is slow":                        {time.Minute, 0, 1, false},
		"the store is slow":                         {0, time.Minute, 1, true},
		"the store is slow for several requests":    {0, time.Minute, 3, true},
		"the requests share a link that is no more": {0, 1800 * time.Millisecond, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				measured := pace.With(ctx, end, nil)
				done := make(chan struct{})
				for range test.requests {
					go func() {
						send(ctx, pace.Send(measured), late{test.source}, test.store)
						done <- struct{}{}
					}()
				}
				for range test.requests {
					<-done
				}
				if slow := errors.Is(context.Cause(ctx), pace.ErrTooSlow); slow != test.slow {
					t.Errorf("too slow: %t, want %t: %v", slow, test.slow, context.Cause(ctx))
				}
			})
		})
	}
}

// send reads a body for an hour as a transport does.
func send(ctx context.Context, sending *pace.Sending, from io.ReadCloser, pause time.Duration) {
	defer sending.End()
	body, buffer := sending.Body(from), make([]byte, 64<<10)
	for begin := time.Now(); time.Since(begin) < time.Hour && ctx.Err() == nil; {
		_, _ = body.Read(buffer)
		<-time.After(pause)
	}
}

// While nothing is waited for, nothing is too slow: a check of a database takes longer than the window, and a body may be read to its end only
// after it. A restore of a large database would end just before its success.
func TestACheckBetweenTwoReadsIsNoSlowTransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(t.Context())
		defer end(nil)
		body := pace.Body(pace.With(ctx, end, nil), late{time.Second})
		for range 3 {
			_, _ = body.Read(make([]byte, 1<<20))
			<-time.After(time.Hour)
		}
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
	})
}

// A transfer cannot know that others will wait. It ended by the higher minimum for minutes in which nobody waited for it.
func TestTheHigherMinimumCountsFromTheFirstWindowThatBeginsWhileOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(t.Context())
		defer end(nil)
		begin := time.Now()
		crowded := func() bool { return time.Since(begin) >= 4*time.Minute }
		body := pace.Body(pace.With(ctx, end, crowded), late{time.Second})
		for ctx.Err() == nil && time.Since(begin) < time.Hour {
			_, _ = body.Read(make([]byte, 128<<10))
		}
		if took := time.Since(begin); took != 2*pace.Window {
			t.Errorf("it ended after %s", took)
		}
	})
}
