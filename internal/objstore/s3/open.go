package s3

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Open prepares a store. It does not connect to the server yet.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := checkEndpoint(c.Endpoint); err != nil {
		return nil, fmt.Errorf("open S3 bucket %s: %w", c.Bucket, err)
	}
	c, err := c.withFiles()
	if err != nil {
		return nil, fmt.Errorf("open S3 bucket %s: %w", c.Bucket, err)
	}
	if len(c.CABundle) > 0 {
		if c.CABundle, err = pki.Trusted(c.CABundle); err != nil {
			return nil, fmt.Errorf("open S3 bucket %s: ca.crt in the Secret: %w", c.Bucket, err)
		}
	}
	cfg, err := config.LoadDefaultConfig(ctx, c.loadOptions()...)
	if err != nil {
		return nil, fmt.Errorf("open S3 bucket %s: %w", c.Bucket, err)
	}
	cfg.Credentials = markedCredentials{cfg.Credentials}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = stall.Transport{Send: send(o.HTTPClient), Limit: patience(c.Patience)}
		o.UsePathStyle = c.ForcePathStyle
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
		// Older compatible stores reject the SDK's trailing checksums. Without them, the signature covers the payload's
		// SHA-256.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
		o.Logger = logging.Nop{}
	})
	base := aws.ToString(client.Options().BaseEndpoint)
	if err := c.allowed(base); err != nil {
		return nil, fmt.Errorf("open S3 bucket %s: %w", c.Bucket, err)
	}
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = "Amazon S3 " + cfg.Region
	}
	return &Store{
		bucket: c.Bucket, endpoint: endpoint, amazons: amazons(base), client: client, customerKey: customerKeyOf(c.CustomerKey),
		writing: writing{
			options: c.Options,
			// Amazon wants a checksum for what is locked, by the bucket's default too; some
			// compatible stores refuse them.
			checksums: c.Endpoint == "" || c.Options.LockMode != "",
			streamed:  maxStreamed, proofPatience: proofPatience,
		},
	}, nil
}

func (c Config) loadOptions() []func(*config.LoadOptions) error {
	opts := []func(*config.LoadOptions) error{config.WithDefaultRegion(defaultRegion), config.WithRetryer(retryer), config.WithHTTPClient(c.httpClient())}
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

func (c Config) httpClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.IdleConnTimeout, t.MaxResponseHeaderBytes = idleTime, stall.MaxHeaders
		stall.Prepare(t)
		if len(c.CABundle) > 0 && t.TLSClientConfig != nil {
			t.TLSClientConfig.RootCAs = nil // it is trusted instead of the others
		}
	})
}

// send returns the function that sends requests. A redirect to another server is followed only from one of Amazon's to another one.
func send(client aws.HTTPClient) stall.Sender {
	buildable, ok := client.(*awshttp.BuildableClient)
	if !ok {
		return client.Do
	}
	return (&http.Client{Transport: buildable.GetTransport(), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if status := r.Response.StatusCode; status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect {
			return http.ErrUseLastResponse
		}
		if amazons(r.URL.String()) && amazons(via[0].URL.String()) && len(via) < maxRedirects {
			return nil
		}
		return stall.SameServer(r, via)
	}}).Do
}

// maxStreamed is the maximum size of a body in one request. The request waits for the proof of the whole database before its
// last bytes, and a store closes a connection that is silent for long: Amazon after about 20 s. S3's own limit is 5 GiB. A
// larger body is sent in parts, and no request is open during its proof.
const maxStreamed = 1 << 30

// proofPatience is how long a request waits for the proof of its body before it is given up. The parts are then sent during
// the proof. Amazon closes a connection that is silent for about 20 s.
const proofPatience = 10 * time.Second
