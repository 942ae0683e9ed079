package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// stallTimeout is how long a read may wait for the next byte of a member. Without it, one member that hangs uses up the time
// of the attempt, and no other member is asked.
const stallTimeout = 30 * time.Second

// ErrStalled means that the member sent nothing for 30 s.
var ErrStalled = errors.New("the member sent no data for 30 s")

// Snapshot streams the snapshot of one member. The context of the attempt limits the whole time.
type Snapshot struct {
	URL string
	By  Access
}

// Snapshot opens the stream, and returns its size in bytes if the member announces it. It has the limit of a read, too, because etcd's
// client tries to connect without a limit if the member stops before its first byte.
func (s Snapshot) Snapshot(ctx context.Context) (_ io.ReadCloser, size int64, _ error) {
	client, err := s.By.Open(s.URL)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	opened := &stream{close: func() { cancel(context.Canceled); client.Close() }, cancel: cancel, ctx: ctx}
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

// watched ends the stream if the call takes longer than the limit.
func (s *stream) watched(call func() error) error {
	timer := time.AfterFunc(stallTimeout, func() { s.cancel(ErrStalled) })
	defer timer.Stop()
	err := call()
	if err != nil && errors.Is(context.Cause(s.ctx), ErrStalled) {
		return ErrStalled
	}
	return err
}
