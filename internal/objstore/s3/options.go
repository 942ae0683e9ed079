package s3

import (
	"crypto/md5" //nolint:gosec // S3 requires it as a checksum of the key
	"encoding/base64"
	"errors"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Options are the storage settings of objects that Put writes. The zero value uses the bucket's defaults.
type Options struct {
	// Encryption by the store: SSES3, or SSEKMS with KMSKeyID (default: the account's key). It must be empty if there is a
	// CustomerKey.
	Encryption string
	KMSKeyID   string
	// StorageClass such as "STANDARD_IA".
	StorageClass string
	// LockMode is "GOVERNANCE" or "COMPLIANCE". It needs either RetainFor, counted from the upload of each object, or
	// RetainUntil.
	LockMode    string
	RetainFor   time.Duration
	RetainUntil time.Time
	Tags        map[string]string
	// CheckFirst is for a store without conditional writes: Put asks whether the key exists, and then writes without a condition.
	CheckFirst bool
}

// The kinds of encryption, as S3 names them.
const (
	SSES3  = string(types.ServerSideEncryptionAes256)
	SSEKMS = string(types.ServerSideEncryptionAwsKms)
)

// customerKeySize is the key size of AES-256 in bytes.
const customerKeySize = 32

// CustomerKey reads a key for SSE-C: 32 raw bytes or their base64 encoding.
func CustomerKey(text []byte) ([]byte, error) {
	if len(text) == customerKeySize {
		return text, nil
	}
	key, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(key) != customerKeySize {
		return nil, errors.New("the SSE-C key must be 32 bytes or their base64 encoding (openssl rand -base64 32)")
	}
	return key, nil
}

// customerKey holds the three SSE-C headers of each request.
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
