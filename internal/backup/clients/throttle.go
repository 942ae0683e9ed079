package clients

import (
	"context"
	"io"

	"golang.org/x/time/rate"

	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// Throttled limits the bytes per second of a source. 0 means no limit.
func Throttled(s save.Source, perSecond int64) save.Source {
	if perSecond <= 0 {
		return s
	}
	return throttledSource{s, perSecond}
}

type throttledSource struct {
	save.Source
	perSecond int64
}

// throttledBlock is how many bytes are read at a time. It is less than the lowest limit, so that no read waits for long.
const throttledBlock = 256 << 10

func (s throttledSource) Snapshot(ctx context.Context) (io.ReadCloser, int64, error) {
	stream, size, err := s.Source.Snapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	return &throttledStream{stream, ctx, rate.NewLimiter(rate.Limit(s.perSecond), throttledBlock)}, size, nil
}

type throttledStream struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // the stream owns it
	limiter *rate.Limiter
}

func (s *throttledStream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p[:min(len(p), throttledBlock)])
	if waitErr := s.limiter.WaitN(s.ctx, n); err == nil {
		err = waitErr
	}
	return n, err
}
