// Package s3 keeps objects in Amazon S3 or a store that speaks its protocol.
//
// The identity needs, on the bucket's objects, s3:PutObject, s3:GetObject,
// s3:DeleteObject and s3:AbortMultipartUpload, and s3:ListBucket on the bucket:
// without the last, S3 calls an absent key forbidden.
//
// Put relies on If-None-Match: *, which S3 and most compatible stores honour for
// single and for multipart uploads. A store that ignores it would replace an
// existing object; callers that cannot accept that look first.
//
// A large body that announces its size goes in one request, and in parts where that
// fails; other large bodies go in parts.
//
// A killed process leaves the parts of its unfinished upload in the bucket. They
// are no object, but they cost: Uploads and Abort remove them, for which the
// identity needs s3:ListBucketMultipartUploads, or give the bucket a lifecycle rule
// that aborts incomplete multipart uploads.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
)

// defaultRegion is what compatible stores expect where nobody chose.
const defaultRegion = "us-east-1"

// Config says which bucket, and who asks.
type Config struct {
	Bucket         string
	Endpoint       string // URL of a compatible store; empty is Amazon S3
	Region         string // empty: ConfigFile, then the environment, then us-east-1
	ForcePathStyle bool   // bucket in the path instead of the host name

	// Static credentials: either these, or a shared credentials file. With
	// neither, the SDK's default chain finds the ambient identity.
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string

	// CredentialsFile and ConfigFile are the bytes of the two files of the AWS
	// command line, of which the profile "default" counts.
	CredentialsFile []byte
	ConfigFile      []byte

	// CABundle is PEM certificates to trust instead of the system's.
	CABundle []byte

	// CustomerKey encrypts and decrypts all objects (SSE-C), 32 bytes; nil for none.
	CustomerKey []byte
	Options     Options

	// Patience is how long the store may be silent before a request is tried again; 0 is stall.DefaultLimit.
	Patience time.Duration
}

// Store is a bucket.
type Store struct {
	bucket      string
	endpoint    string
	client      *s3.Client
	options     Options
	customerKey *customerKey
	checksums   bool
}

// Open prepares a store. It does not speak to the server yet.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := checkEndpoint(c.Endpoint); err != nil {
		return nil, fmt.Errorf("open S3 bucket %s: %w", c.Bucket, err)
	}
	c, err := c.withFiles()
	if err != nil {
		return nil, fmt.Errorf("open S3 bucket %s: %w", c.Bucket, err)
	}
	cfg, err := config.LoadDefaultConfig(ctx, c.loadOptions()...)
	if err != nil {
		return nil, fmt.Errorf("open S3 bucket %s: %w", c.Bucket, err)
	}
	cfg.Credentials = markedCredentials{cfg.Credentials}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = stall.Transport{Send: o.HTTPClient.Do, Limit: patience(c.Patience)}
		o.UsePathStyle = c.ForcePathStyle
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
		// Older compatible stores refuse the SDK's newer trailing checksums; the
		// signature covers the payload's SHA-256 without them.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
		o.Logger = logging.Nop{}
	})
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = "Amazon S3 " + cfg.Region
	}
	return &Store{
		bucket: c.Bucket, endpoint: endpoint, client: client, options: c.Options, customerKey: customerKeyOf(c.CustomerKey),
		// Amazon wants a checksum for what is locked, by the bucket's default too; some
		// compatible stores refuse them.
		checksums: c.Endpoint == "" || c.Options.LockMode != "",
	}, nil
}

func (c Config) loadOptions() []func(*config.LoadOptions) error {
	opts := []func(*config.LoadOptions) error{config.WithDefaultRegion(defaultRegion), config.WithRetryer(retryer)}
	if c.Region != "" {
		opts = append(opts, config.WithRegion(c.Region))
	}
	if c.AccessKeyID != "" {
		opts = append(opts, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)))
	}
	if len(c.CABundle) > 0 {
		opts = append(opts, config.WithCustomCABundle(bytes.NewReader(c.CABundle)))
	}
	return opts
}

// retryer also tries again what a store could not do because of somebody else's
// request: S3 says OperationAborted, and versitygw ExistingObjectIsDirectory when a
// folder went with its last object. And it does so when a store, or a proxy before it,
// says 429, and when an answer breaks off in the middle.
func retryer() aws.Retryer {
	standard := retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = append(o.Retryables,
			retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}},
			retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(*stall.Error)) {
					return aws.TrueTernary
				}
				return aws.UnknownTernary
			}))
	})
	return retry.AddWithErrorCodes(standard, "OperationAborted", "ExistingObjectIsDirectory")
}

// patience gives the end of an upload more time: some stores copy all of its parts before they answer.
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

// checkEndpoint refuses what would surprise later, and a password, which would
// show in every error.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return fmt.Errorf("endpoint is no URL: write it as https://host:port")
	case u.User != nil:
		return fmt.Errorf("endpoint holds a user or password: they belong into the Secret")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("endpoint %q: write it as https://host:port", endpoint)
	}
	return nil
}
