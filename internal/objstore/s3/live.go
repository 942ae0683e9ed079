package s3

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// maxLive is how much S3 takes in one request.
const maxLive = 5 << 30

// goesLive says whether a body is sent in one request: its size must be known.
func (t *tape) goesLive() bool { return t.size > partSize && t.size <= maxLive }

// putLive sends a body in one request while it is being read, and the last of it once it is whole. It is tried once:
// what is there of the body is sent again in parts.
//
// The body is framed as S3's aws-chunked encoding with a trailing checksum has it, which the SDK does over TLS only. By
// that a store refuses a body that changed on its way or breaks off; without it versitygw 1.8 takes the first half of one
// for all of it. Stores that do not know the encoding refuse it, or keep the frame with the body: then the object has
// another size.
func (s *Store) putLive(ctx context.Context, key string, t *tape) error {
	body, length := newFrame(ctx, t)
	in := s.put(key, time.Now())
	in.Body, in.ContentLength, in.ContentEncoding, in.IfNoneMatch = body, &length, aws.String("aws-chunked"), aws.String("*")
	_, err := s.client.PutObject(ctx, in, func(o *s3.Options) {
		o.RetryMaxAttempts = 1
		o.APIOptions = append(o.APIOptions, trailing(t.size)...)
	})
	if err != nil {
		return err
	}
	return s.arrived(ctx, key, t.size)
}

// mayGoInParts says whether parts may do what one request could not: whatever the store, or a proxy before it, has
// against that.
func mayGoInParts(ctx context.Context, err error) bool {
	_, kind := classify(err)
	return ctx.Err() == nil && !errors.Is(kind, fs.ErrExist) && !errors.Is(kind, objstore.ErrNoBucket)
}

// arrived looks at the object that was made, and removes what is none.
func (s *Store) arrived(ctx context.Context, key string, size int64) error {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: &s.bucket, Key: &key,
		SSECustomerAlgorithm: s.customerKey.algorithm, SSECustomerKey: s.customerKey.key, SSECustomerKeyMD5: s.customerKey.md5,
	})
	if err != nil {
		return err
	}
	switch {
	case out.ContentLength == nil:
		return errors.New("the store does not say how large the object is that it made") // which may be whole
	case *out.ContentLength != size:
		err = fmt.Errorf("the store made an object of %d bytes from %d", *out.ContentLength, size)
		return errors.Join(err, s.Delete(ctx, key))
	}
	return nil
}

// live is a body that is sent while its tape grows.
type live struct {
	ctx    context.Context //nolint:containedctx // it is the request's own
	tape   *tape
	offset int64
	sum    uint32 // CRC-32 of what was read
}

func (l *live) Read(b []byte) (int, error) {
	if l.offset == l.tape.size {
		return 0, io.EOF
	}
	have, end := l.tape.upTo(l.ctx, l.offset+1)
	if have >= l.tape.size {
		// The last bytes are the end of the body, too, and have to wait for it.
		have, end = l.tape.upTo(l.ctx, l.tape.size+1)
	}
	switch {
	case end != nil && !errors.Is(end, io.EOF):
		return 0, end
	case end != nil && have != l.tape.size || have > l.tape.size:
		return 0, fmt.Errorf("body has %d bytes and announced %d", have, l.tape.size)
	}
	n, err := l.tape.ReadAt(b[:min(int64(len(b)), have-l.offset)], l.offset)
	if n > 0 {
		err = nil
	}
	l.sum = crc32.Update(l.sum, crc32.IEEETable, b[:n])
	l.offset += int64(n)
	return n, err
}
