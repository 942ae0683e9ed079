package ask

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hangs gives some bytes, and then none until its context ends.
type hangs struct {
	ctx   context.Context
	first io.Reader
}

func (h hangs) Read(p []byte) (int, error) {
	if n, err := h.first.Read(p); err == nil {
		return n, nil
	}
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

func (hangs) Close() error { return nil }

func newStream(t *testing.T, first string) *stream {
	ctx, cancel := context.WithCancelCause(t.Context())
	return &stream{
		body: hangs{ctx, strings.NewReader(first)}, ctx: ctx, cancel: cancel,
		close: func() { cancel(context.Canceled) },
	}
}

func TestASnapshotStreamEnds(t *testing.T) {
	t.Run("ends if the member sends no data", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStream(t, "bytes")
			defer s.Close()
			began := time.Now()
			if got, err := io.ReadAll(s); !errors.Is(err, ErrStalled) || string(got) != "bytes" {
				t.Errorf("read %q, error %v", got, err)
			}
			if waited := time.Since(began); waited != stallTimeout {
				t.Errorf("waited %s", waited)
			}
		})
	})
	t.Run("continues if the store is slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStream(t, "bytes")
			defer s.Close()
			for range len("bytes") {
				<-time.After(2 * stallTimeout)
				if _, err := s.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
	t.Run("ends without ErrStalled if the attempt is cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStream(t, "")
			time.AfterFunc(time.Second, func() { s.cancel(context.Canceled) })
			if _, err := s.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	})
}
