package s3

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// parts cuts a body. Where the body can be read again they are ranges of it, and
// otherwise buffers, of which there are never more than concurrency+1.
type parts struct {
	body   io.Reader
	size   int64
	tape   *tape // nil: the body is read once
	begun  bool  // to be sent, in one request
	offset int64
	free   chan []byte // of size, or nil while never used
}

// part is one piece of a body.
type part struct {
	at     io.ReaderAt
	offset int64
	size   int64
	last   bool
	buffer []byte
}

// newParts cuts body, from its tape where there is one.
func newParts(body io.Reader, tape *tape) *parts {
	p := &parts{body: body, size: partSizeFor(body), tape: tape}
	if tape != nil {
		p.begun = tape.begun()
		return p
	}
	p.free = make(chan []byte, concurrency+1)
	for range concurrency + 1 {
		p.free <- nil
	}
	return p
}

// partSizeFor keeps the number of parts below S3's limit: 8 MiB parts reach
// 78 GiB, and a body that announces more gets larger ones.
func partSizeFor(body io.Reader) int64 {
	sized, ok := body.(objstore.Sized)
	if !ok {
		return partSize
	}
	// An eighth more than announced, since a database grows meanwhile.
	hint := sized.SizeHint()
	need := (hint + hint/8) / maxParts
	const unit = 1 << 20
	return max(partSize, (need/unit+1)*unit)
}

// beyond says whether part number is one too many: the body ended where the part
// before it did.
func (p part) beyond(number int32) bool { return number > 1 && p.last && p.size == 0 }

// next reads the next part. The last one may be empty.
func (p *parts) next(ctx context.Context) (part, error) {
	if p.tape != nil {
		return p.nextOfTape(ctx)
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

func (p *parts) nextOfTape(ctx context.Context) (part, error) {
	found := part{at: p.tape, offset: p.offset}
	have, end := p.tape.upTo(ctx, p.offset+p.size)
	found.size = min(p.size, have-p.offset)
	p.offset += found.size
	if found.last = errors.Is(end, io.EOF) && p.offset == have; found.last {
		end = nil
	}
	if found.size == p.size && !found.last {
		end = nil // whatever it is comes with the next
	}
	return found, end
}

// fill appends to buffer until it has size bytes. It grows in steps, so that a
// small body takes little.
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

// release gives a part's buffer back.
func (p *parts) release(done part) {
	if p.tape == nil {
		p.free <- done.buffer
	}
}

func (p part) content() io.ReadSeeker { return io.NewSectionReader(p.at, p.offset, p.size) }

// crc32 of the part as S3 writes it.
func (p part) crc32() (string, error) {
	sum := crc32.NewIEEE()
	if n, err := io.Copy(sum, p.content()); err != nil {
		return "", err
	} else if n != p.size {
		return "", errors.New("body yielded other bytes when it was read again")
	}
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum.Sum32())), nil
}

type bufferAt []byte

func (b bufferAt) ReadAt(p []byte, offset int64) (int, error) {
	n := copy(p, b[min(offset, int64(len(b))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// untilDone ends with its context.
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
