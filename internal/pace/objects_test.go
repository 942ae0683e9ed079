package pace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pace"
)

// far is a store that answers after a time, and then sends a byte at a time with pauses.
type far struct {
	content []byte
	answers time.Duration
	pause   time.Duration
}

func (f far) Get(context.Context, string) (io.ReadCloser, error) {
	<-time.After(f.answers)
	return io.NopCloser(&slowBody{Reader: bytes.NewReader(f.content), pause: f.pause}), nil
}

type slowBody struct {
	io.Reader
	pause time.Duration
}

func (s *slowBody) Read(p []byte) (int, error) {
	<-time.After(s.pause)
	if s.pause > 0 {
		p = p[:1]
	}
	return s.Reader.Read(p)
}

// An honest restore to a point reads thousands of small segments, and ended because they have few bytes. If others wait for its end, a store
// that takes seconds for each segment must not keep them waiting for a day: only one replay runs at a time.
func TestManySmallObjectsAreNoSlowTransfer(t *testing.T) {
	for name, test := range map[string]struct {
		store   far
		objects int
		between time.Duration // work of the reader
		crowded bool
		slow    bool
	}{
		"small objects of a far store":                                               {far{make([]byte, 700), 100 * time.Millisecond, 0}, 17_280, 0, false, false},
		"a store that answers after seconds":                                         {far{make([]byte, 700), 2 * time.Second, 0}, 1_000, 0, false, false},
		"a reader that works meanwhile":                                              {far{make([]byte, 700), time.Millisecond, 0}, 10, 10 * time.Minute, false, false},
		"a store that sends a byte at times":                                         {far{make([]byte, 700), time.Second, 20 * time.Second}, 2, 0, false, true},
		"small objects, and others wait":                                             {far{make([]byte, 700), 100 * time.Millisecond, 0}, 17_280, 0, true, false},
		"small objects of a far store that answers within a second, and others wait": {far{make([]byte, 700), time.Second, 0}, 5_000, 0, true, false},
		"a store that answers after almost 4 s, and others wait":                     {far{make([]byte, 700), 3900 * time.Millisecond, 0}, 1_000, 0, true, true},
		"a store that answers after almost 4 s":                                      {far{make([]byte, 700), 3900 * time.Millisecond, 0}, 1_000, 0, false, false},
		"a store that hardly answers":                                                {far{make([]byte, 700), 25 * time.Second, 0}, 1_000, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				store := pace.Objects(pace.With(ctx, end, func() bool { return test.crowded }), test.store)
				for range test.objects {
					body, err := store.Get(ctx, "segment")
					if err != nil {
						t.Fatal(err)
					}
					for err == nil && ctx.Err() == nil {
						_, err = body.Read(make([]byte, 1024))
					}
					<-time.After(test.between)
				}
				if slow := errors.Is(context.Cause(ctx), pace.ErrTooSlow); slow != test.slow {
					t.Errorf("too slow: %t, want %t: %v", slow, test.slow, context.Cause(ctx))
				}
			})
		})
	}
}
