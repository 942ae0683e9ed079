package s3

import (
	"context"
	"crypto/md5" //nolint:gosec // S3 computes ETags with it
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

var errUnknownSize = errors.New("the store does not report the size of the created object")

// compare checks the completed object against the parts that were sent, and deletes an object that differs.
func (m *multipart) compare(ctx context.Context) error {
	if want, known := m.expectedETag(); known && want != strings.Trim(m.etag, `"`) {
		err := objstore.Own(fmt.Errorf("the store created an object with another ETag than its parts give, which is %s", want))
		return errors.Join(err, m.discard(ctx))
	}
	var size int64
	for _, part := range m.sent {
		size += part.size
	}
	err := m.checkSize(ctx, size)
	if _, kind := classify(err); errors.Is(err, errUnknownSize) || errors.Is(kind, fs.ErrPermission) {
		return nil // the reader of the object compares its SHA-256
	}
	return err
}

// expectedETag returns the ETag of an object whose parts have these MD5s. It is known only if the store uses the MD5 of each
// part as its ETag. A store that encrypts may not.
func (m *multipart) expectedETag() (etag string, known bool) {
	all := md5.New() //nolint:gosec // see above
	for _, part := range m.sent {
		if part.md5 == nil || strings.Trim(aws.ToString(part.ETag), `"`) != hex.EncodeToString(part.md5) {
			return "", false
		}
		all.Write(part.md5)
	}
	suffix := fmt.Sprintf("-%d", len(m.sent))
	if whole := strings.Trim(m.etag, `"`); len(whole) != 2*md5.Size+len(suffix) || !strings.HasSuffix(whole, suffix) {
		return "", false // the store has another scheme for whole objects
	}
	return hex.EncodeToString(all.Sum(nil)) + suffix, true
}

// checkSize checks the size of the created object, and deletes an object of another size.
func (u *upload) checkSize(ctx context.Context, size int64) error {
	out, err := u.head(ctx, u.key)
	if err != nil {
		return err
	}
	switch {
	case out.ContentLength == nil:
		return errUnknownSize // the object may be complete, so it is kept
	case *out.ContentLength != size:
		err = objstore.Own(fmt.Errorf("the store created an object of %d bytes, but the body has %d", *out.ContentLength, size))
		return errors.Join(err, u.discard(ctx))
	}
	return nil
}
