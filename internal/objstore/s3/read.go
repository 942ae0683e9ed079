package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
)

// Get opens key.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	g := &getting{ctx: stall.Object(ctx), store: s, key: key}
	if err := g.open(); err != nil {
		return nil, err
	}
	return g, nil
}

// getting reads one object. If a connection breaks, it continues at the same offset with a new request.
type getting struct {
	ctx    context.Context
	store  *Store
	key    string
	body   io.ReadCloser
	offset int64
	etag   *string // of the first response: later ones must be of the same object
	broken int     // broken connections in a row, without a byte in between
}

// maxBroken is the tolerated number of broken connections in a row.
const maxBroken = 5

func (g *getting) open() error {
	in := &s3.GetObjectInput{
		Bucket: &g.store.bucket, Key: &g.key, IfMatch: g.etag,
		SSECustomerAlgorithm: g.store.customerKey.algorithm, SSECustomerKey: g.store.customerKey.key, SSECustomerKeyMD5: g.store.customerKey.md5,
	}
	if g.offset > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", g.offset))
	}
	out, err := g.store.client.GetObject(g.ctx, in)
	if err != nil {
		return g.store.wrap("get", g.key, err)
	}
	if g.offset > 0 && !strings.HasPrefix(aws.ToString(out.ContentRange), fmt.Sprintf("bytes %d-", g.offset)) {
		_ = out.Body.Close()
		return g.store.wrap("get", g.key, errors.New("the store ignores the requested range, so a broken download cannot be continued"))
	}
	g.body, g.etag = out.Body, out.ETag
	return nil
}

func (g *getting) Read(p []byte) (int, error) {
	n, err := g.body.Read(p)
	g.offset += int64(n)
	if n > 0 {
		g.broken = 0
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if g.broken++; g.ctx.Err() != nil || g.etag == nil || g.broken > maxBroken {
		return n, g.store.wrap("get", g.key, err)
	}
	_ = g.body.Close()
	return n, g.open()
}

func (g *getting) Close() error { return g.body.Close() }

// List yields the objects whose key begins with prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix, MaxKeys: aws.Int32(objstore.PageSize)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(objstore.Object{}, s.wrap("list", prefix, err))
				return
			}
			objects := make([]objstore.Object, len(page.Contents))
			for i, object := range page.Contents {
				objects[i] = objectOf(object)
			}
			if err := objstore.HoldNames(ctx, objects, objstore.Object.Name, aws.ToString(page.NextContinuationToken)); err != nil {
				yield(objstore.Object{}, err)
				return
			}
			for _, object := range objects {
				if !yield(object, nil) {
					return
				}
			}
		}
	}
}

func objectOf(object types.Object) objstore.Object {
	class := object.StorageClass
	return objstore.Object{
		Key:     aws.ToString(object.Key),
		Size:    aws.ToInt64(object.Size),
		ModTime: aws.ToTime(object.LastModified),
		Cold:    class == types.ObjectStorageClassGlacier || class == types.ObjectStorageClassDeepArchive,
	}
}

// Delete removes key.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	return s.wrap("delete", key, err)
}
