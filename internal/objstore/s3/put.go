package s3

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Put uploads body in one streaming PUT if possible, and otherwise in parts. The request that creates the object is
// conditional, unless the options say that Put checks first.
func (s *Store) Put(ctx context.Context, key string, body io.Reader) error {
	// The SDK would read the body before it checks the context.
	err := ctx.Err()
	u := s.newUpload(key, body)
	if err == nil {
		err = u.checkFirst(ctx)
	}
	if err == nil {
		err = u.write(ctx, body)
	}
	return s.wrap("put", key, err)
}

func (u *upload) write(ctx context.Context, body io.Reader) error {
	again, ok := body.(objstore.Rereader)
	if !ok {
		return u.putParts(ctx, newParts(body, nil))
	}
	t := newReplayableBody(body, again)
	defer t.stop()
	if !u.fitsOneRequest(t) {
		return u.putParts(ctx, newParts(body, t))
	}
	err := u.streamingPut(ctx, t)
	switch {
	case err == nil:
		return nil
	case t.failure() != nil:
		return t.failure() // the store's error only repeats it
	case !partsMayWork(ctx, err):
		return err
	case u.exists(ctx, u.key):
		return objstore.Mark(err, fs.ErrExist) // the store has created the object, but its answer was lost
	}
	return u.putParts(ctx, newParts(body, t))
}

// putParts uploads parts, or a single object if there is only one part.
func (u *upload) putParts(ctx context.Context, parts *parts) error {
	first, err := parts.next(ctx)
	if err != nil {
		return err
	}
	if first.last {
		return u.putOne(ctx, first)
	}
	return u.putMultipart(ctx, first, parts)
}

// putOne uploads a body that fits into one part.
func (u *upload) putOne(ctx context.Context, p part) error {
	in := u.put(time.Now())
	in.Body, in.ContentLength, in.IfNoneMatch = p.content(), aws.Int64(p.size), u.ifNoneMatch()
	if u.checksums {
		sum, err := p.crc32()
		if err != nil {
			return err
		}
		in.ChecksumCRC32 = aws.String(sum)
	} else {
		sum, err := p.md5()
		if err != nil {
			return err
		}
		in.ContentMD5 = aws.String(base64.StdEncoding.EncodeToString(sum))
	}
	_, err := u.client.PutObject(ctx, in)
	return err
}

// putMultipart uploads the first part and the following ones. If it fails, it deletes them.
func (u *upload) putMultipart(ctx context.Context, first part, parts *parts) error {
	in := u.create(time.Now())
	if u.checksums {
		in.ChecksumAlgorithm, in.ChecksumType = types.ChecksumAlgorithmCrc32, types.ChecksumTypeComposite
	}
	var options []func(*s3.Options)
	if parts.begun {
		options = append(options, patiently)
	}
	created, err := u.client.CreateMultipartUpload(ctx, in, options...)
	if err == nil {
		err = objstore.CheckToken(aws.ToString(created.UploadId))
	}
	if err != nil {
		return err
	}
	m := &multipart{upload: u, id: aws.ToString(created.UploadId)}
	if err = m.send(ctx, first, parts); err == nil {
		err = m.complete(ctx)
	}
	if err == nil {
		return m.compare(ctx)
	}
	abort, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	if abortErr := u.Abort(abort, objstore.Upload{Key: u.key, ID: m.id}); abortErr != nil {
		err = fmt.Errorf("%w (deleting the uploaded parts also failed: %s)", err, abortErr.Error())
	}
	return err
}
