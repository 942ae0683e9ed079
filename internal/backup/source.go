package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// stallTimeout is how long a read may wait for the next byte of the stream.
const stallTimeout = 30 * time.Second

var errStalled = errors.New("the member sent no data for 30 s")

// source streams the snapshot of one member.
type source struct {
	url    string
	access access
	stall  time.Duration
}

func newSource(url string, by access) snapshot.Source {
	return source{url: url, access: by, stall: stallTimeout}
}

// Snapshot opens the stream. It has the timeout too, because etcd's client tries to connect without a limit if the
// member stops before its first byte.
func (s source) Snapshot(ctx context.Context) (_ io.ReadCloser, size int64, _ error) {
	client, err := s.access.open(s.url)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	opened := &stream{close: func() { cancel(context.Canceled); client.Close() }, cancel: cancel, stall: s.stall, ctx: ctx}
	err = opened.watched(func() (err error) { opened.body, size, err = client.Snapshot(ctx); return err })
	if err != nil {
		opened.close()
		return nil, 0, err
	}
	return opened, size, nil
}

// stream is a snapshot stream that fails if it stalls.
type stream struct {
	body   io.ReadCloser
	close  func()
	cancel context.CancelCauseFunc
	stall  time.Duration
	ctx    context.Context //nolint:containedctx // the stream owns it
}

func (s *stream) Read(p []byte) (n int, err error) {
	err = s.watched(func() (err error) { n, err = s.body.Read(p); return err })
	return n, err
}

func (s *stream) Close() error {
	defer s.close()
	if err := s.body.Close(); err != nil {
		return fmt.Errorf("close snapshot stream: %w", err)
	}
	return nil
}

// watched ends the stream if the call takes longer than the timeout.
func (s *stream) watched(call func() error) error {
	timer := time.AfterFunc(s.stall, func() { s.cancel(errStalled) })
	defer timer.Stop()
	err := call()
	if err != nil && errors.Is(context.Cause(s.ctx), errStalled) {
		return errStalled
	}
	return err
}
