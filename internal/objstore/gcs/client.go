package gcs

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"cloud.google.com/go/storage"
	"google.golang.org/api/option"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Store is an objstore.Store in a bucket.
type Store struct {
	bucket       string
	endpoint     string
	client       *storage.Client
	kmsKeyName   string
	storageClass string
	// identity is the credentials. If anonymous is true, the endpoint gets none.
	identity  []option.ClientOption
	anonymous bool
}

// googles reports whether a URL is one of Google's servers, which only Google can answer for.
func googles(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return endpoint == google || err == nil && u.Scheme == "https" && strings.HasSuffix(u.Hostname(), ".googleapis.com")
}

// google is the endpoint of a store without one.
const google = "storage.googleapis.com"

// bucketMissing reports whether the bucket is missing. GCS gives the same answer for a missing bucket and a missing object.
// Listing needs no permission to read the bucket's settings.
func (s *Store) bucketMissing(ctx context.Context) bool {
	objects := s.client.Bucket(s.bucket).Objects(ctx, &storage.Query{Prefix: "\U0010ffff"})
	objects.PageInfo().MaxSize = objstore.PageSize
	_, err := objects.Next()
	return errors.Is(err, storage.ErrBucketNotExist)
}
