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
// A killed process leaves the parts of its unfinished upload in the bucket. They
// are no object, but they cost: give the bucket a lifecycle rule that aborts
// incomplete multipart uploads.
package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

const (
	// partSize and concurrency bound the memory of one Put: concurrency+1 parts,
	// and twice the first one.
	partSize    = 8 << 20
	concurrency = 2
	// maxParts is a limit of S3.
	maxParts = 10000
	// abortTimeout is for removing the parts of a failed upload, for which the
	// caller's context may be too late.
	abortTimeout = 10 * time.Second
	// defaultRegion is what compatible stores expect where nobody chose.
	defaultRegion = "us-east-1"
)

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
}

// Store is a bucket.
type Store struct {
	bucket   string
	endpoint string
	client   *s3.Client
	uploader *transfermanager.Client
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
		o.UsePathStyle = c.ForcePathStyle
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
		// Older compatible stores refuse the SDK's newer trailing checksums; the
		// signature covers the payload's SHA-256 without them.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
	})
	uploader := transfermanager.New(client, func(o *transfermanager.Options) {
		o.PartSizeBytes = partSize
		o.MultipartUploadThreshold = partSize
		o.Concurrency = concurrency
		o.FailTimeout = abortTimeout
		// The uploader's own default would override the client's.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	})
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = "Amazon S3 " + cfg.Region
	}
	return &Store{bucket: c.Bucket, endpoint: endpoint, client: client, uploader: uploader}, nil
}

func (c Config) loadOptions() []func(*config.LoadOptions) error {
	opts := []func(*config.LoadOptions) error{config.WithDefaultRegion(defaultRegion)}
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

// Put uploads body in parts, the last step of which is conditional.
func (s *Store) Put(ctx context.Context, key string, body io.Reader) error {
	_, err := s.uploader.UploadObject(ctx, &transfermanager.UploadObjectInput{
		Bucket:      &s.bucket,
		Key:         &key,
		Body:        onlyReader{body},
		IfNoneMatch: aws.String("*"),
	}, func(o *transfermanager.Options) {
		o.PartSizeBytes = partSizeFor(body)
		o.MultipartUploadThreshold = o.PartSizeBytes
	})
	return s.wrap("put", key, err)
}

// partSizeFor keeps the number of parts below S3's limit: 8 MiB parts reach
// 78 GiB, and a body that announces more gets larger ones.
func partSizeFor(body io.Reader) int64 {
	sized, ok := body.(objstore.Sized)
	if !ok {
		return partSize
	}
	// An eighth more than announced, since a database grows meanwhile.
	hint := sized.SizeHint()
	need := (hint + hint/8) / maxParts
	const unit = 1 << 20
	return max(partSize, (need/unit+1)*unit)
}

// onlyReader hides Seek, by which the uploader would measure the body.
type onlyReader struct{ io.Reader }

// Get opens key.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, s.wrap("get", key, err)
	}
	return out.Body, nil
}

// List yields the objects whose key begins with prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(objstore.Object{}, s.wrap("list", prefix, err))
				return
			}
			for _, object := range page.Contents {
				found := objstore.Object{
					Key:     aws.ToString(object.Key),
					Size:    aws.ToInt64(object.Size),
					ModTime: aws.ToTime(object.LastModified),
				}
				if !yield(found, nil) {
					return
				}
			}
		}
	}
}

// Delete removes key.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	return s.wrap("delete", key, err)
}
