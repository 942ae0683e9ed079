package abs

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // Azure wants it, as a checksum on the way and for nothing secret
	"errors"
	"fmt"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// A Put holds two blocks in memory, and none of a body that can be read again. Azure takes 50 000 of them, so a body may have 195 GiB.
const (
	blockSize = 4 << 20
	// concurrency is how many blocks are sent at the same time, and buffered is that of a body that cannot be read again.
	concurrency, buffered = 2, 1
)

// blocks splits a body into blocks. Those of a body that can be read again are ranges of it. Those of other bodies are buffers, at most two at a time.
type blocks struct {
	body   io.Reader
	again  io.ReaderAt // nil if the body can only be read once
	offset int64
	buffer []byte      // of a body that can be read again; what is read into it is read again later
	free   chan []byte // of length blockSize, or nil if not used yet
}

// readSize is how many bytes of a body that can be read again are read at a time. It may write each to a disk.
const readSize = 256 << 10

func newBlocks(body io.Reader, again objstore.Rereader) *blocks {
	if again != nil {
		return &blocks{body: body, again: again.Reread(), buffer: make([]byte, readSize)}
	}
	b := &blocks{body: body, free: make(chan []byte, buffered+1)}
	for range buffered + 1 {
		b.free <- nil
	}
	return b
}

// concurrency is how many blocks are sent at the same time.
func (b *blocks) concurrency() int {
	if b.again == nil {
		return buffered
	}
	return concurrency
}

// block is a part of a body.
type block struct {
	at           io.ReaderAt
	offset, size int64
	buffer       []byte
}

// next reads the next block. last: the body has ended. The last one may be empty.
func (b *blocks) next(ctx context.Context) (next block, last bool, err error) {
	if b.again != nil {
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(b.body, blockSize), b.buffer)
		next = block{at: b.again, offset: b.offset, size: n}
		b.offset += n
		return next, n < blockSize, err
	}
	select {
	case next.buffer = <-b.free:
	case <-ctx.Done():
		return block{}, false, context.Cause(ctx)
	}
	next.buffer, last, err = readBlock(b.body, next.buffer[:0])
	next.at, next.size = bytes.NewReader(next.buffer), int64(len(next.buffer))
	return next, last, err
}

// release makes the buffer of a block available again.
func (b *blocks) release(done block) {
	if b.again == nil {
		b.free <- done.buffer
	}
}

// readBlock fills buffer with the next blockSize bytes. It grows in steps, so that a
// small body takes little memory. last: the body has ended.
func readBlock(body io.Reader, buffer []byte) (block []byte, last bool, err error) {
	for len(buffer) < blockSize {
		if len(buffer) == cap(buffer) {
			grown := make([]byte, len(buffer), min(blockSize, max(64<<10, 8*cap(buffer))))
			copy(grown, buffer)
			buffer = grown
		}
		n, err := body.Read(buffer[len(buffer):min(blockSize, cap(buffer))])
		buffer = buffer[:len(buffer)+n]
		if errors.Is(err, io.EOF) {
			return buffer, true, nil
		}
		if err != nil {
			return buffer, false, err
		}
	}
	return buffer, false, nil
}

func (b block) reader() *io.SectionReader { return io.NewSectionReader(b.at, b.offset, b.size) }

func (b block) content() io.ReadSeekCloser { return streaming.NopCloser(b.reader()) }

// checksum lets Azure refuse a block that changed on its way.
func (b block) checksum() (blob.TransferValidationType, error) {
	sum := md5.New() //nolint:gosec // see above
	n, err := io.Copy(sum, b.reader())
	if err == nil && n != b.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, objstore.Own(fmt.Errorf("read the body again: %w", err))
	}
	return blob.TransferValidationTypeMD5(sum.Sum(nil)), nil
}
