package s3

import (
	"context"
	"io"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Get opens key.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &s.bucket, Key: &key,
		SSECustomerAlgorithm: s.customerKey.algorithm, SSECustomerKey: s.customerKey.key, SSECustomerKeyMD5: s.customerKey.md5,
	})
	if err != nil {
		return nil, s.wrap("get", key, err)
	}
	return out.Body, nil
}

// List yields the objects whose key begins with prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(objstore.Object{}, s.wrap("list", prefix, err))
				return
			}
			for _, object := range page.Contents {
				found := objstore.Object{
					Key:     aws.ToString(object.Key),
					Size:    aws.ToInt64(object.Size),
					ModTime: aws.ToTime(object.LastModified),
				}
				if !yield(found, nil) {
					return
				}
			}
		}
	}
}

// Delete removes key.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	return s.wrap("delete", key, err)
}
