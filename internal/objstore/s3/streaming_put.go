package s3

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// fitsOneRequest reports whether the body can be sent as a streaming PUT. Its size must be known. If Put checks first, the last
// check must come just before the object appears, which only an upload in parts allows.
func (u *upload) fitsOneRequest(b *replayableBody) bool {
	return b.size > partSize && b.size <= u.streamed && !u.options.CheckFirst
}

// streamingPut sends a body in one request while it is read. It sends the last bytes only after the body has ended without
// an error. It makes one attempt: after a failure the caller sends the body again in parts.
//
// The body uses S3's aws-chunked encoding with a trailing checksum, so that the store rejects a damaged or truncated body.
// Without it, versitygw 1.8 stores a truncated body as an object. The SDK supports this encoding only over TLS. A store
// that does not support the encoding rejects the request, or stores the encoded bytes: then the object has another size.
func (u *upload) streamingPut(ctx context.Context, t *replayableBody) error {
	body, length := newChunkedBody(ctx, t, u.proofPatience)
	in := u.put(time.Now())
	in.Body, in.ContentLength, in.ContentEncoding, in.IfNoneMatch = body, &length, aws.String("aws-chunked"), u.ifNoneMatch()
	_, err := u.client.PutObject(ctx, in, func(o *s3.Options) {
		o.RetryMaxAttempts = 1
		o.APIOptions = append(o.APIOptions, trailing(t.size)...)
	})
	if err != nil {
		return err
	}
	return u.checkSize(ctx, t.size)
}

// partsMayWork reports whether an upload in parts may succeed after a streaming PUT failed with err. The store, or a proxy
// in front of it, may reject large or aws-chunked requests for many reasons.
func partsMayWork(ctx context.Context, err error) bool {
	_, kind := classify(err)
	return ctx.Err() == nil && !errors.Is(kind, fs.ErrExist) && !errors.Is(kind, objstore.ErrNoBucket)
}
