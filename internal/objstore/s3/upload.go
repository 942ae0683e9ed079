package s3

import (
	"io"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

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
