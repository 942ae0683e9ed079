package s3

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// SignGet signs a URL to read key. With SSE-C, the reader also needs the headers that SignGet returns.
func (s *Store) SignGet(ctx context.Context, key string, lifetime time.Duration) (objstore.SignedURL, error) {
	expires := time.Now().Add(lifetime)
	identity, err := s.client.Options().Credentials.Retrieve(ctx)
	if err != nil {
		return objstore.SignedURL{}, s.wrap("sign", key, err)
	}
	if identity.CanExpire && identity.Expires.Before(expires) {
		expires = identity.Expires
	}
	in := &s3.GetObjectInput{
		Bucket: &s.bucket, Key: &key,
		SSECustomerAlgorithm: s.customerKey.algorithm, SSECustomerKey: s.customerKey.key, SSECustomerKeyMD5: s.customerKey.md5,
	}
	request, err := s3.NewPresignClient(s.client, s3.WithPresignExpires(lifetime)).PresignGetObject(ctx, in)
	if err != nil {
		return objstore.SignedURL{}, s.wrap("sign", key, err)
	}
	request.SignedHeader.Del("Host")
	return objstore.SignedURL{URL: request.URL, Header: request.SignedHeader, Expires: expires}, nil
}
