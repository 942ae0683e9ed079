package s3

import (
	"crypto/md5" //nolint:gosec // S3 wants it, as a checksum of the key and for nothing secret
	"encoding/base64"
	"errors"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Options say how the store keeps what Put writes. The zero value leaves all to
// the bucket.
type Options struct {
	// Encryption by the store: SSES3 or SSEKMS, with KMSKeyID or the account's default
	// key. With a CustomerKey it must be empty.
	Encryption string
	KMSKeyID   string
	// StorageClass such as "STANDARD_IA".
	StorageClass string
	// LockMode is "GOVERNANCE" or "COMPLIANCE"; with it either RetainFor, from the
	// writing of each object, or RetainUntil.
	LockMode    string
	RetainFor   time.Duration
	RetainUntil time.Time
	Tags        map[string]string
}

// The kinds of encryption, in S3's words.
const (
	SSES3  = string(types.ServerSideEncryptionAes256)
	SSEKMS = string(types.ServerSideEncryptionAwsKms)
)

// customerKeySize is AES-256's.
const customerKeySize = 32

// CustomerKey reads a key of SSE-C: 32 bytes as they are, or their base64.
func CustomerKey(text []byte) ([]byte, error) {
	if len(text) == customerKeySize {
		return text, nil
	}
	key, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(key) != customerKeySize {
		return nil, errors.New("the key of SSE-C must be 32 bytes, or their base64 (openssl rand -base64 32)")
	}
	return key, nil
}

// customerKey is the three headers that each request about such an object has.
type customerKey struct{ algorithm, key, md5 *string }

func customerKeyOf(key []byte) *customerKey {
	if len(key) == 0 {
		return &customerKey{}
	}
	sum := md5.Sum(key) //nolint:gosec // see above
	return &customerKey{
		algorithm: aws.String("AES256"),
		key:       aws.String(base64.StdEncoding.EncodeToString(key)),
		md5:       aws.String(base64.StdEncoding.EncodeToString(sum[:])),
	}
}

// create is the beginning of an upload of several parts.
func (s *Store) create(key string, now time.Time) *s3.CreateMultipartUploadInput {
	o := s.options
	return &s3.CreateMultipartUploadInput{
		Bucket: &s.bucket, Key: &key,
		ServerSideEncryption: types.ServerSideEncryption(o.Encryption), SSEKMSKeyId: optional(o.KMSKeyID),
		SSECustomerAlgorithm: s.customerKey.algorithm, SSECustomerKey: s.customerKey.key, SSECustomerKeyMD5: s.customerKey.md5,
		StorageClass:   types.StorageClass(o.StorageClass),
		ObjectLockMode: types.ObjectLockMode(o.LockMode), ObjectLockRetainUntilDate: o.retainUntil(now),
		Tagging: optional(o.tagging()),
	}
}

// put is a single upload, which is told the same.
func (s *Store) put(key string, now time.Time) *s3.PutObjectInput {
	c := s.create(key, now)
	return &s3.PutObjectInput{
		Bucket: c.Bucket, Key: c.Key, ServerSideEncryption: c.ServerSideEncryption, SSEKMSKeyId: c.SSEKMSKeyId,
		SSECustomerAlgorithm: c.SSECustomerAlgorithm, SSECustomerKey: c.SSECustomerKey, SSECustomerKeyMD5: c.SSECustomerKeyMD5,
		StorageClass: c.StorageClass, ObjectLockMode: c.ObjectLockMode, ObjectLockRetainUntilDate: c.ObjectLockRetainUntilDate,
		Tagging: c.Tagging,
	}
}

func (o Options) retainUntil(now time.Time) *time.Time {
	switch {
	case o.LockMode == "":
		return nil
	case o.RetainFor > 0:
		return aws.Time(now.Add(o.RetainFor).UTC())
	}
	return aws.Time(o.RetainUntil.UTC())
}

func (o Options) tagging() string {
	values := url.Values{}
	for key, value := range o.Tags {
		values.Set(key, value)
	}
	return values.Encode()
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
