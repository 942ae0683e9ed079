// Package s3 stores objects in Amazon S3 or a compatible store.
//
// The identity needs s3:PutObject, s3:GetObject, s3:DeleteObject and s3:AbortMultipartUpload on the bucket's objects, and
// s3:ListBucket on the bucket. Without s3:ListBucket, S3 answers 403 for a missing key.
//
// Put relies on If-None-Match: *, which S3 and most compatible stores support for single and multipart uploads. A store
// that ignores it replaces existing objects; callers that cannot accept that check first. For a store that refuses it, Put
// asks whether the key exists instead (Options.CheckFirst). Then the later of two concurrent writers replaces the object of
// the earlier one.
//
// Put sends a body of up to 1 GiB that announces its size as a streaming PUT: one request in aws-chunked encoding. If the
// store rejects that, and for all other large bodies, it uploads parts.
//
// Each request has a checksum that the store compares. Over TLS, the SDK's signature does not cover the body.
//
// A killed process leaves the parts of its unfinished upload in the bucket. They are not an object, but they cost money.
// Uploads and Abort delete them, for which the identity needs s3:ListBucketMultipartUploads. A lifecycle rule of the
// bucket that aborts incomplete multipart uploads does the same.
package s3

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
)

// defaultRegion is what most compatible stores expect by default.
const defaultRegion = "us-east-1"

// Config is the bucket, the endpoint and the credentials of a store.
type Config struct {
	Bucket         string
	Endpoint       string // URL of a compatible store; empty is Amazon S3
	Region         string // empty: ConfigFile, then the environment, then us-east-1
	ForcePathStyle bool   // bucket in the path instead of the host name

	// Static credentials: either these, or a shared credentials file. Without both, the SDK's default chain finds the
	// identity of the environment.
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string

	// CredentialsFile and ConfigFile are the contents of the two files of the AWS CLI. Only their profile "default" is
	// used.
	CredentialsFile []byte
	ConfigFile      []byte

	// CABundle holds the CA certificates (PEM) to trust instead of the system's.
	CABundle []byte

	// CustomerKey encrypts and decrypts all objects (SSE-C), 32 bytes; nil for none.
	CustomerKey []byte
	// KeysFor are the endpoints beside Amazon's for which the owner of the keys allows to use them. CustomerKey is sent to no other one. The other
	// keys sign for each endpoint if the owner names none, unless OnlyNamed is true.
	KeysFor   string
	OnlyNamed bool
	Options   Options

	// Patience is how long a request may make no progress before it is retried. Default: stall.DefaultLimit.
	Patience time.Duration
}

// writing is how a store creates objects.
type writing struct {
	options Options
	// checksums is true for the checksums of newer S3 servers. Other servers get Content-MD5, which all of them support.
	checksums bool
	streamed  int64 // the maximum size of a streaming PUT
	// proofPatience is how long the last bytes of a streaming PUT wait for the proof of the body.
	proofPatience time.Duration
}

// Store is an objstore.Store in a bucket.
type Store struct {
	bucket      string
	endpoint    string
	amazons     bool // the endpoint is one of Amazon's
	client      *s3.Client
	customerKey *customerKey
	writing     writing
}

// idleTime is how long a connection that nothing uses is kept. A store is opened for each snapshot, so with the SDK's 90 s the
// connections of a thousand EtcdBackups take hundreds of megabytes.
const idleTime = 5 * time.Second

const maxRedirects = 5

// retryer also retries after conflicts with other requests: S3 answers OperationAborted, and versitygw answers
// ExistingObjectIsDirectory while it deletes an empty folder. It also retries after a body that arrived damaged, after status
// 429 and after an interrupted
// answer.
func retryer() aws.Retryer {
	standard := retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(pageIsTemporary)}, o.Retryables...)
		o.Retryables = append(o.Retryables,
			retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}},
			retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(*stall.Error)) {
					return aws.TrueTernary
				}
				return aws.UnknownTernary
			}))
	})
	return retry.AddWithErrorCodes(standard, "OperationAborted", "ExistingObjectIsDirectory", "BadDigest")
}

// pageIsTemporary comes before the rules of the SDK, which repeat each request that got no answer.
func pageIsTemporary(err error) aws.Ternary {
	if errors.As(err, new(*stall.LimitError)) {
		return aws.FalseTernary
	}
	if page := (*objstore.AnswerError)(nil); errors.As(err, &page) {
		return aws.BoolTernary(page.Temporary())
	}
	return aws.UnknownTernary
}

// patience gives the completion of an upload five times the limit: some stores copy all parts before they answer.
func patience(limit time.Duration) func(*http.Request) time.Duration {
	if limit == 0 {
		limit = stall.DefaultLimit
	}
	return func(r *http.Request) time.Duration {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
			return 5 * limit
		}
		return limit
	}
}

// checkEndpoint rejects an invalid endpoint, and one with a password, which all errors would show.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return fmt.Errorf("endpoint is not a URL: write it as https://host:port")
	case u.User != nil:
		return fmt.Errorf("endpoint contains a user or password: move them to the Secret")
	case strings.ContainsAny(endpoint, "?#"):
		return fmt.Errorf("endpoint contains a query or a fragment: write it as https://host:port")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("endpoint %q is invalid: write it as https://host:port", endpoint)
	}
	return nil
}
