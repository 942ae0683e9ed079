package s3

import (
	"context"
	"errors"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

var _ objstore.Unfinished = (*Store)(nil)

// Uploads yields the unfinished multipart uploads of keys that begin with prefix.
func (s *Store) Uploads(ctx context.Context, prefix string) iter.Seq2[objstore.Upload, error] {
	return func(yield func(objstore.Upload, error) bool) {
		pages := s3.NewListMultipartUploadsPaginator(s.client, &s3.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: &prefix, MaxUploads: aws.Int32(objstore.PageSize)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(objstore.Upload{}, s.wrap("list unfinished uploads under", prefix, err))
				return
			}
			uploads := make([]objstore.Upload, len(page.Uploads))
			for i, upload := range page.Uploads {
				uploads[i] = objstore.Upload{Key: aws.ToString(upload.Key), ID: aws.ToString(upload.UploadId), Started: aws.ToTime(upload.Initiated)}
			}
			next := aws.ToString(page.NextKeyMarker) + aws.ToString(page.NextUploadIdMarker)
			if err := objstore.HoldNames(ctx, uploads, func(u objstore.Upload) string { return u.Key + u.ID }, next); err != nil {
				yield(objstore.Upload{}, err)
				return
			}
			for _, found := range uploads {
				if !yield(found, nil) {
					return
				}
			}
		}
	}
}

// Abort deletes the parts of one upload.
func (s *Store) Abort(ctx context.Context, upload objstore.Upload) error {
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &s.bucket, Key: &upload.Key, UploadId: &upload.ID,
	})
	if gone(err) {
		return nil
	}
	return s.wrap("abort upload of", upload.Key, err)
}

// gone reports whether err means that the upload does not exist.
func gone(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "NoSuchUpload"
}
