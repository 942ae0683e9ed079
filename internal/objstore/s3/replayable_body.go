package s3

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// bufferSize is how many bytes of a replayable body are read at a time. The body may write each block to a disk.
const bufferSize = 256 << 10

// errSlowProof ends a streaming PUT whose last bytes wait for too long.
var errSlowProof = errors.New("the body has not ended in time")

var errStopped = errors.New("the upload has ended")

// replayableBody is a body whose bytes can be read again. Each sender reads the body up to the offset that it needs, one
// sender at a time; the bytes before that are available to all senders.
type replayableBody struct {
	io.ReaderAt
	size int64 // announced by the body, or 0

	reading sync.Mutex // for body and buffer; a read may take minutes, because the end of the body waits for its proof
	body    io.Reader
	buffer  []byte // discarded: the bytes are read again through ReaderAt

	mu   sync.Mutex
	have int64
	end  error // why there are no more bytes; io.EOF if the body is complete
}

func newReplayableBody(body io.Reader, again objstore.Rereader) *replayableBody {
	return &replayableBody{ReaderAt: again.Reread(), size: again.Size(), body: body, buffer: make([]byte, bufferSize)}
}

// readUpTo reads the body until n bytes are available or the body ends. It returns how many bytes are available, and why
// there are no more.
func (b *replayableBody) readUpTo(ctx context.Context, n int64) (have int64, end error) {
	if have, end = b.state(); have >= n || end != nil {
		return have, end
	}
	b.reading.Lock()
	defer b.reading.Unlock()
	body := untilDone{ctx, b.body}
	for {
		if have, end = b.state(); have >= n || end != nil {
			return have, end
		}
		read, err := body.Read(b.buffer)
		b.mu.Lock()
		b.have, b.end = b.have+int64(read), err
		b.mu.Unlock()
	}
}

func (b *replayableBody) state() (have int64, end error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.have, b.end
}

// awaitEnd waits until the body has ended, but not for longer than limit: then the error is errSlowProof. The proof goes on.
func (b *replayableBody) awaitEnd(ctx context.Context, limit time.Duration) (have int64, end error) {
	ended := make(chan struct{})
	go panics.Caught(func() {
		_, _ = b.readUpTo(ctx, b.size+1)
		close(ended)
	}, func(err error) {
		b.mu.Lock()
		b.end = err
		b.mu.Unlock()
		close(ended)
	})()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
		return b.state()
	case <-timer.C:
		return b.size, errSlowProof
	}
}

// stop waits for a read in progress and prevents further reads. An HTTP client may read on after it has returned an
// answer.
func (b *replayableBody) stop() {
	b.reading.Lock()
	defer b.reading.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end == nil {
		b.end = errStopped
	}
}

// begun reports whether any part of the body was read.
func (b *replayableBody) begun() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.have > 0
}

// failure returns why the body failed, or nil if it did not.
func (b *replayableBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if errors.Is(b.end, io.EOF) {
		return nil
	}
	return b.end
}

// untilDone is a reader that fails when its context ends.
type untilDone struct {
	ctx  context.Context
	body io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.body.Read(p)
	// The last bytes must not be sent after the context has ended.
	if err != nil && r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return n, err
}

// sequentialReader reads a replayable body from its start while the body is still being read from its source.
type sequentialReader struct {
	ctx        context.Context //nolint:containedctx // it is the context of the request that reads the body
	replayable *replayableBody
	patience   time.Duration // how long the last bytes wait for the end of the body
	offset     int64
	sum        uint32 // CRC-32 of the bytes read so far
}

func (l *sequentialReader) Read(b []byte) (int, error) {
	if l.offset == l.replayable.size {
		return 0, io.EOF
	}
	have, end := l.replayable.readUpTo(l.ctx, l.offset+1)
	if have >= l.replayable.size {
		// Hold back the last bytes until the body has ended without an error.
		have, end = l.replayable.awaitEnd(l.ctx, l.patience)
	}
	switch {
	case end != nil && !errors.Is(end, io.EOF):
		return 0, end
	case end != nil && have != l.replayable.size || have > l.replayable.size:
		return 0, fmt.Errorf("the body has %d bytes, but announced %d", have, l.replayable.size)
	}
	n, err := l.replayable.ReadAt(b[:min(int64(len(b)), have-l.offset)], l.offset)
	if n > 0 {
		err = nil
	}
	l.sum = crc32.Update(l.sum, crc32.IEEETable, b[:n])
	l.offset += int64(n)
	return n, err
}
