package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// ifNoneMatch is the condition of a request that creates an object; nil for a store that refuses it.
func (u *upload) ifNoneMatch() *string {
	if u.options.CheckFirst {
		return nil
	}
	return aws.String("*")
}

// checkFirst takes the place of the condition: it returns fs.ErrExist if the key exists. It is asked again just before an
// upload in parts is completed, because such an upload may take long.
func (u *upload) checkFirst(ctx context.Context) error {
	if !u.options.CheckFirst {
		return nil
	}
	_, err := u.head(ctx, u.key)
	if err == nil {
		return objstore.Mark(errors.New("an object with this key exists"), fs.ErrExist)
	}
	if _, kind := classify(err); errors.Is(kind, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("check that no object has this key: %w", err)
}

func (s *Store) head(ctx context.Context, key string) (*s3.HeadObjectOutput, error) {
	return s.client.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: &s.bucket, Key: &key,
		SSECustomerAlgorithm: s.customerKey.algorithm, SSECustomerKey: s.customerKey.key, SSECustomerKeyMD5: s.customerKey.md5,
	})
}

// discard deletes an object that the store created wrongly. Without a condition it may be that of another writer, so it is kept,
// and the reader of the object finds that its SHA-256 differs.
func (u *upload) discard(ctx context.Context) error {
	if u.options.CheckFirst {
		return nil
	}
	return u.Delete(ctx, u.key)
}
