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
	if err == nil {
		err = s.checkFirst(ctx, key)
	}
	if err == nil {
		err = s.classed(body).upload(ctx, key, body)
	}
	return s.wrap("put", key, err)
}

// classed returns the store for a body: metadata has the bucket's default storage class.
func (s *Store) classed(body io.Reader) *Store {
	if _, metadata := body.(objstore.Metadata); !metadata {
		return s
	}
	plain := *s
	plain.options.StorageClass = ""
	return &plain
}

func (s *Store) upload(ctx context.Context, key string, body io.Reader) error {
	again, ok := body.(objstore.Rereader)
	if !ok {
		return s.putParts(ctx, key, newParts(body, nil))
	}
	t := newReplayableBody(body, again)
	defer t.stop()
	if !s.fitsOneRequest(t) {
		return s.putParts(ctx, key, newParts(body, t))
	}
	err := s.streamingPut(ctx, key, t)
	switch {
	case err == nil:
		return nil
	case t.failure() != nil:
		return t.failure() // the store's error only repeats it
	case !partsMayWork(ctx, err):
		return err
	case s.exists(ctx, key):
		return objstore.Mark(err, fs.ErrExist) // the store has created the object, but its answer was lost
	}
	return s.putParts(ctx, key, newParts(body, t))
}

// putParts uploads parts, or a single object if there is only one part.
func (s *Store) putParts(ctx context.Context, key string, parts *parts) error {
	first, err := parts.next(ctx)
	if err != nil {
		return err
	}
	if first.last {
		return s.putOne(ctx, key, first)
	}
	return s.putMultipart(ctx, key, first, parts)
}

// putOne uploads a body that fits into one part.
func (s *Store) putOne(ctx context.Context, key string, p part) error {
	in := s.put(key, time.Now())
	in.Body, in.ContentLength, in.IfNoneMatch = p.content(), aws.Int64(p.size), s.ifNoneMatch()
	if s.checksums {
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
	_, err := s.client.PutObject(ctx, in)
	return err
}

// putMultipart uploads the first part and the following ones. If it fails, it deletes them.
func (s *Store) putMultipart(ctx context.Context, key string, first part, parts *parts) error {
	in := s.create(key, time.Now())
	if s.checksums {
		in.ChecksumAlgorithm, in.ChecksumType = types.ChecksumAlgorithmCrc32, types.ChecksumTypeComposite
	}
	var options []func(*s3.Options)
	if parts.begun {
		options = append(options, patiently)
	}
	created, err := s.client.CreateMultipartUpload(ctx, in, options...)
	if err != nil {
		return err
	}
	m := &multipart{Store: s, key: key, id: aws.ToString(created.UploadId)}
	if err = m.send(ctx, first, parts); err == nil {
		err = m.complete(ctx)
	}
	if err == nil {
		return m.compare(ctx)
	}
	abort, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	if abortErr := s.Abort(abort, objstore.Upload{Key: key, ID: m.id}); abortErr != nil {
		err = fmt.Errorf("%w (deleting the uploaded parts also failed: %s)", err, abortErr.Error())
	}
	return err
}
