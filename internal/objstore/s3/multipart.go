package s3

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// partAttempts is the number of attempts for requests after an upload has begun. It lets the upload survive a store
// outage of about 30 seconds.
const partAttempts = 8

// abortTimeout limits the deletion of the parts of a failed upload. The caller's context may have ended before.
const abortTimeout = 10 * time.Second

// multipart is one multipart upload.
type multipart struct {
	*upload
	id   string
	sent []*sentPart
	etag string // of the completed object
}

// sentPart is a part that was sent, its MD5 if that was computed, and its size.
type sentPart struct {
	types.CompletedPart
	md5  []byte
	size int64
}

// send reads the body in this goroutine and uploads its parts in others.
func (m *multipart) send(ctx context.Context, p part, parts *parts) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parts.concurrency())
	var err error
	for number := int32(1); err == nil && !p.beyond(number); number++ {
		if number > maxParts {
			err = fmt.Errorf("body has more than %d parts of %d bytes", maxParts, parts.size)
			break
		}
		done, current := &sentPart{CompletedPart: types.CompletedPart{PartNumber: &number}, size: p.size}, p
		m.sent = append(m.sent, done)
		group.Go(panics.InGroup(func() error {
			defer parts.release(current)
			return m.sendPart(ctx, done, current)
		}))
		if p.last {
			break
		}
		p, err = parts.next(ctx)
	}
	if err != nil {
		// Let requests in progress end before the caller aborts the upload: a store may keep a part that arrives after
		// the abort forever.
		defer time.AfterFunc(abortTimeout, cancel).Stop()
	}
	if failed := group.Wait(); err == nil {
		err = failed
	}
	return err
}

func (m *multipart) sendPart(ctx context.Context, done *sentPart, p part) error {
	in := &s3.UploadPartInput{
		Bucket: &m.bucket, Key: &m.key, UploadId: &m.id, PartNumber: done.PartNumber, Body: p.content(), ContentLength: aws.Int64(p.size),
		SSECustomerAlgorithm: m.customerKey.algorithm, SSECustomerKey: m.customerKey.key, SSECustomerKeyMD5: m.customerKey.md5,
	}
	if m.checksums {
		sum, err := p.crc32()
		if err != nil {
			return err
		}
		in.ChecksumCRC32, done.ChecksumCRC32 = &sum, &sum
	} else {
		sum, err := p.md5()
		if err != nil {
			return err
		}
		in.ContentMD5, done.md5 = aws.String(base64.StdEncoding.EncodeToString(sum)), sum
	}
	out, err := m.client.UploadPart(ctx, in, patiently)
	if err == nil {
		done.ETag = out.ETag
	}
	return err
}

// complete creates the object from the parts, unless the key exists.
func (m *multipart) complete(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.checkFirst(ctx); err != nil {
		return err
	}
	list := make([]types.CompletedPart, 0, len(m.sent))
	for _, part := range m.sent {
		list = append(list, part.CompletedPart)
	}
	out, err := m.client.CompleteMultipartUpload(stall.Prepared(ctx), &s3.CompleteMultipartUploadInput{
		Bucket: &m.bucket, Key: &m.key, UploadId: &m.id, IfNoneMatch: m.ifNoneMatch(),
		MultipartUpload:      &types.CompletedMultipartUpload{Parts: list},
		SSECustomerAlgorithm: m.customerKey.algorithm, SSECustomerKey: m.customerKey.key, SSECustomerKeyMD5: m.customerKey.md5,
	}, patiently)
	if gone(err) && m.exists(ctx, m.key) {
		// No other process ends this upload: the store has completed it, but its answer was lost.
		err = objstore.Mark(err, fs.ErrExist)
	}
	if err == nil {
		m.etag = aws.ToString(out.ETag)
	}
	return err
}

// exists reports whether the key can be read.
func (s *Store) exists(ctx context.Context, key string) bool {
	body, err := s.Get(ctx, key)
	if err == nil {
		_ = body.Close()
	}
	return err == nil
}

func patiently(o *s3.Options) { o.RetryMaxAttempts = partAttempts }
