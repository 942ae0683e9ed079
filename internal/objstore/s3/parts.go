package s3

import (
	"context"
	"crypto/md5" //nolint:gosec // S3 requires it as a checksum
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// parts splits a body into parts. The parts of a replayable body are ranges of it. The parts of other bodies are buffers,
// at most two at a time.
type parts struct {
	body       io.Reader
	size       int64
	replayable *replayableBody // nil if the body can only be read once
	begun      bool            // a streaming PUT has sent a part of it
	offset     int64
	free       chan []byte // of length size, or nil if not used yet
}

// part is one piece of a body.
type part struct {
	at     io.ReaderAt
	offset int64
	size   int64
	last   bool
	buffer []byte
}

// newParts splits body. replayable may be nil.
func newParts(body io.Reader, replayable *replayableBody) *parts {
	p := &parts{body: body, size: partSizeFor(body, bufferedPart, mostBuffered)}
	if replayable != nil {
		p.replayable, p.size, p.begun = replayable, partSizeFor(body, partSize, mostReplayed), replayable.begun()
		return p
	}
	p.free = make(chan []byte, buffered+1)
	for range buffered + 1 {
		p.free <- nil
	}
	return p
}

// concurrency is how many parts are sent at the same time.
func (p *parts) concurrency() int {
	if p.replayable == nil {
		return buffered
	}
	return concurrency
}

// partSizeFor keeps the number of parts below S3's limit. A body that announces more than the least size of a part suffices for gets larger parts. What it announces
// may be what others state, for example in a manifest, so it is no more than the most.
func partSizeFor(body io.Reader, least, most int64) int64 {
	sized, ok := body.(objstore.Sized)
	if !ok {
		return least
	}
	// An eighth more than announced, because the database may grow meanwhile.
	need := sized.SizeHint() / maxParts
	need += need / 8
	const unit = 1 << 20
	return min(max(least, (need/unit+1)*unit), most)
}

// beyond reports whether the part with this number is empty because the body ended with the previous part.
func (p part) beyond(number int32) bool { return number > 1 && p.last && p.size == 0 }

// next reads the next part. The last one may be empty.
func (p *parts) next(ctx context.Context) (part, error) {
	if p.replayable != nil {
		return p.nextReplayable(ctx)
	}
	var found part
	select {
	case found.buffer = <-p.free:
	case <-ctx.Done():
		return part{}, context.Cause(ctx)
	}
	var err error
	found.buffer, err = fill(untilDone{ctx, p.body}, found.buffer[:0], p.size)
	found.at, found.size = bufferAt(found.buffer), int64(len(found.buffer))
	if found.last = errors.Is(err, io.EOF); found.last {
		err = nil
	}
	return found, err
}

func (p *parts) nextReplayable(ctx context.Context) (part, error) {
	found := part{at: p.replayable, offset: p.offset}
	have, end := p.replayable.readUpTo(ctx, p.offset+p.size)
	found.size = min(p.size, have-p.offset)
	p.offset += found.size
	if found.last = errors.Is(end, io.EOF) && p.offset == have; found.last {
		end = nil
	}
	if found.size == p.size && !found.last {
		end = nil // the next call returns it
	}
	return found, end
}

// fill reads into buffer until it has size bytes. The buffer grows in steps, so that a small body uses little memory.
func fill(body io.Reader, buffer []byte, size int64) ([]byte, error) {
	for int64(len(buffer)) < size {
		if len(buffer) == cap(buffer) {
			grown := make([]byte, len(buffer), min(size, max(64<<10, 8*int64(cap(buffer)))))
			copy(grown, buffer)
			buffer = grown
		}
		n, err := body.Read(buffer[len(buffer):min(size, int64(cap(buffer)))])
		buffer = buffer[:len(buffer)+n]
		if err != nil {
			return buffer, err
		}
	}
	return buffer, nil
}

// release makes a part's buffer available again.
func (p *parts) release(done part) {
	if p.replayable == nil {
		p.free <- done.buffer
	}
}

func (p part) content() io.ReadSeeker { return io.NewSectionReader(p.at, p.offset, p.size) }

// md5 returns the part's MD5. All S3 servers compare it with the header Content-MD5.
func (p part) md5() ([]byte, error) {
	sum := md5.New() //nolint:gosec // S3 requires it as a checksum
	if err := p.sum(sum); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}

// crc32 returns the part's CRC-32 in base64, as S3 expects it.
func (p part) crc32() (string, error) {
	sum := crc32.NewIEEE()
	if err := p.sum(sum); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum.Sum32())), nil
}

func (p part) sum(to hash.Hash) error {
	n, err := io.Copy(to, p.content())
	if err == nil && n != p.size {
		err = errors.New("the body has another length when it is read again")
	}
	return err
}

type bufferAt []byte

func (b bufferAt) ReadAt(p []byte, offset int64) (int, error) {
	n := copy(p, b[min(offset, int64(len(b))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// concurrency is how many parts are sent at the same time, and buffered is that of a body that cannot be read again. One more is read in this time.
const concurrency, buffered = 2, 1

const (
	// partSize is that of a replayable body, whose parts take no memory. Parts of 8 MiB suffice for 78 GiB. S3 accepts no part that is larger than mostReplayed.
	partSize     = 8 << 20
	mostReplayed = 5 << 30
	// bufferedPart is that of any other body, of which one Put holds two parts in memory. S3 accepts no smaller part. It suffices for 48 GiB, and mostBuffered
	// for 156 GiB. etcd advises no database of more than 8 GiB.
	bufferedPart = 5 << 20
	mostBuffered = 16 << 20
)

// maxParts is a limit of S3.
const maxParts = 10000
