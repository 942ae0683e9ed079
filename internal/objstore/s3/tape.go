package s3

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// sieveSize is how much of a body that can be read again is read at a time; it may write that to a disk.
const sieveSize = 256 << 10

var errStopped = errors.New("the upload has ended")

// tape is a body that can be read again: whoever sends from it reads the body on as far as it needs, one at a time, and
// what was read stays there for the others.
type tape struct {
	io.ReaderAt
	size int64 // that the body announces, or 0

	mu    sync.Mutex
	body  io.Reader
	sieve []byte // takes what is read again later
	have  int64
	end   error // why there is no more; io.EOF where the body is whole
}

func newTape(body io.Reader, again objstore.Rereader) *tape {
	return &tape{ReaderAt: again.Reread(), size: again.Size(), body: body, sieve: make([]byte, sieveSize)}
}

// upTo reads the body until n bytes of it are there, or it has ended. It says how many are there, and why there are no more.
func (t *tape) upTo(ctx context.Context, n int64) (have int64, end error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for body := (untilDone{ctx, t.body}); t.have < n && t.end == nil; {
		var read int
		read, t.end = body.Read(t.sieve)
		t.have += int64(read)
	}
	return t.have, t.end
}

// stop waits for whoever is reading the body and lets nobody read more of it. An HTTP client may read on after it has
// answered.
func (t *tape) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == nil {
		t.end = errStopped
	}
}

// begun says whether anybody has read any of it.
func (t *tape) begun() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.have > 0
}

// broken is why the body failed, nil where it did not.
func (t *tape) broken() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(t.end, io.EOF) {
		return nil
	}
	return t.end
}
