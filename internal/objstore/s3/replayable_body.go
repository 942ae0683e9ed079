package s3

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// bufferSize is how many bytes of a replayable body are read at a time. The body may write each block to a disk.
const bufferSize = 256 << 10

var errStopped = errors.New("the upload has ended")

// replayableBody is a body whose bytes can be read again. Each sender reads the body up to the offset that it needs, one
// sender at a time; the bytes before that are available to all senders.
type replayableBody struct {
	io.ReaderAt
	size int64 // announced by the body, or 0

	mu     sync.Mutex
	body   io.Reader
	buffer []byte // discarded: the bytes are read again through ReaderAt
	have   int64
	end    error // why there are no more bytes; io.EOF if the body is complete
}

func newReplayableBody(body io.Reader, again objstore.Rereader) *replayableBody {
	return &replayableBody{ReaderAt: again.Reread(), size: again.Size(), body: body, buffer: make([]byte, bufferSize)}
}

// readUpTo reads the body until n bytes are available or the body ends. It returns how many bytes are available, and why
// there are no more.
func (b *replayableBody) readUpTo(ctx context.Context, n int64) (have int64, end error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for body := (untilDone{ctx, b.body}); b.have < n && b.end == nil; {
		var read int
		read, b.end = body.Read(b.buffer)
		b.have += int64(read)
	}
	return b.have, b.end
}

// stop waits for a read in progress and prevents further reads. An HTTP client may read on after it has returned an
// answer.
func (b *replayableBody) stop() {
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
