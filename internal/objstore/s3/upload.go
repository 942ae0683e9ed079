package s3

import (
	"io"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// writing is how a store creates objects.
type writing struct {
	options Options
	// checksums is true for the checksums of newer S3 servers. Other servers get Content-MD5, which all of them support.
	checksums bool
	streamed  int64 // the maximum size of a streaming PUT
	// proofPatience is how long the last bytes of a streaming PUT wait for the proof of the body.
	proofPatience time.Duration
}

// upload creates one object.
type upload struct {
	*Store
	writing
	key string
}

// newUpload returns the upload of a body: metadata has the bucket's default storage class.
func (s *Store) newUpload(key string, body io.Reader) *upload {
	u := &upload{Store: s, writing: s.writing, key: key}
	if _, metadata := body.(objstore.Metadata); metadata {
		u.options.StorageClass = ""
	}
	return u
}
