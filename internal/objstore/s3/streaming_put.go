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

// maxStreamed is the maximum size of a body in one request. The request waits for the proof of the whole database before its
// last bytes, and a store closes a connection that is silent for long: Amazon after about 20 s. S3's own limit is 5 GiB. A
// larger body is sent in parts, and no request is open during its proof.
const maxStreamed = 1 << 30

// proofPatience is how long a request waits for the proof of its body before it is given up. The parts are then sent during
// the proof. Amazon closes a connection that is silent for about 20 s.
const proofPatience = 10 * time.Second

// fitsOneRequest reports whether the body can be sent as a streaming PUT. Its size must be known. If Put checks first, the last
// check must come just before the object appears, which only an upload in parts allows.
func (s *Store) fitsOneRequest(b *replayableBody) bool {
	return b.size > partSize && b.size <= s.streamed && !s.options.CheckFirst
}

// streamingPut sends a body in one request while it is read. It sends the last bytes only after the body has ended without
// an error. It makes one attempt: after a failure the caller sends the body again in parts.
//
// The body uses S3's aws-chunked encoding with a trailing checksum, so that the store rejects a damaged or truncated body.
// Without it, versitygw 1.8 stores a truncated body as an object. The SDK supports this encoding only over TLS. A store
// that does not support the encoding rejects the request, or stores the encoded bytes: then the object has another size.
func (s *Store) streamingPut(ctx context.Context, key string, t *replayableBody) error {
	body, length := newChunkedBody(ctx, t, s.proofPatience)
	in := s.put(key, time.Now())
	in.Body, in.ContentLength, in.ContentEncoding, in.IfNoneMatch = body, &length, aws.String("aws-chunked"), s.ifNoneMatch()
	_, err := s.client.PutObject(ctx, in, func(o *s3.Options) {
		o.RetryMaxAttempts = 1
		o.APIOptions = append(o.APIOptions, trailing(t.size)...)
	})
	if err != nil {
		return err
	}
	return s.checkSize(ctx, key, t.size)
}

// partsMayWork reports whether an upload in parts may succeed after a streaming PUT failed with err. The store, or a proxy
// in front of it, may reject large or aws-chunked requests for many reasons.
func partsMayWork(ctx context.Context, err error) bool {
	_, kind := classify(err)
	return ctx.Err() == nil && !errors.Is(kind, fs.ErrExist) && !errors.Is(kind, objstore.ErrNoBucket)
}

// checkSize checks the size of the created object, and deletes an object of another size.
func (s *Store) checkSize(ctx context.Context, key string, size int64) error {
	out, err := s.head(ctx, key)
	if err != nil {
		return err
	}
	switch {
	case out.ContentLength == nil:
		return errUnknownSize // the object may be complete, so it is kept
	case *out.ContentLength != size:
		err = objstore.Own(fmt.Errorf("the store created an object of %d bytes, but the body has %d", *out.ContentLength, size))
		return errors.Join(err, s.discard(ctx, key))
	}
	return nil
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
