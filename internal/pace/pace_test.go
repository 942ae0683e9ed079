package pace

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// trickle returns as many bytes as asked each time, after a pause, and ends with its context.
type trickle struct {
	ctx   context.Context //nolint:containedctx // the body owns it
	bytes int
	pause time.Duration
	left  int
}

func (b *trickle) Read(p []byte) (int, error) {
	select {
	case <-time.After(b.pause):
	case <-b.ctx.Done():
		return 0, context.Cause(b.ctx)
	}
	n := min(b.bytes, len(p), b.left)
	if b.left -= n; b.left == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (b *trickle) Close() error { return nil }

func TestATransferThatHardlyMovesEnds(t *testing.T) {
	for name, test := range map[string]struct {
		bytes   int
		pause   time.Duration
		crowded bool
		slow    bool
	}{
		"a byte every 29 s":                                   {1, 29 * time.Second, false, true},
		"a link of one megabit":                               {122 << 10, time.Second, false, false},
		"a link of one megabit, and others wait for its end":  {122 << 10, time.Second, true, true},
		"a link of ten megabits, and others wait for its end": {1220 << 10, time.Second, true, false},
		"4 minutes without a byte, and then 30 MiB at once":   {30 << 20, 4 * time.Minute, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				begin := time.Now()
				measured := With(ctx, end, func() bool { return test.crowded })
				body := Body(measured, &trickle{ctx, test.bytes, test.pause, test.bytes * 2000})
				buffer := make([]byte, 32<<20)
				var err error
				for err == nil && time.Since(begin) < time.Hour {
					_, err = body.Read(buffer)
				}
				took := time.Since(begin)
				if errors.Is(err, ErrTooSlow) != test.slow || test.slow && took > Window+time.Minute {
					t.Errorf("it ended after %s: %v", took, err)
				}
				_ = body.Close()
				<-time.After(time.Hour)
				if !test.slow && ctx.Err() != nil {
					t.Errorf("a transfer that has ended is measured: %v", context.Cause(ctx))
				}
			})
		})
	}
}

func TestABodyWithoutAPaceIsReturnedAsItIs(t *testing.T) {
	body := io.NopCloser(strings.NewReader("x"))
	if Body(t.Context(), body) != body {
		t.Error("it is measured")
	}
}
