// Package conformance tests whether an S3 server has all features on which the suite relies. Every build tests the local
// server. make conformance S3_ENDPOINT=… tests your server. The tests create, empty and delete their own buckets.
package conformance

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// server is an S3 server.
type server struct {
	location connect.Access // without a bucket
	client   *s3.Client
}

// theServer returns the server of S3_ENDPOINT, or starts the local one. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// S3_REGION apply, and S3_CA is the path of a CA bundle.
func theServer(t *testing.T) server {
	t.Helper()
	endpoint, region, key, secret := os.Getenv("S3_ENDPOINT"), os.Getenv("S3_REGION"), os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if endpoint == "" {
		local := servers.S3(t)
		endpoint, region, key, secret = local.Endpoint, local.Region, local.AccessKey, local.SecretKey
	}
	if region == "" {
		region = "us-east-1"
	}
	s := server{location: connect.Access{
		Location: storage.Location{Provider: v1beta2.StorageS3, Endpoint: endpoint, Region: region, ForcePathStyle: true},
		Data:     map[string][]byte{"access-key-id": []byte(key), "secret-access-key": []byte(secret)},
	}}
	client := http.DefaultClient
	if path := os.Getenv("S3_CA"); path != "" {
		bundle, err := os.ReadFile(path)
		roots := x509.NewCertPool()
		if err != nil || !roots.AppendCertsFromPEM(bundle) {
			t.Fatalf("S3_CA %s contains no certificates, error %v", path, err)
		}
		s.location.Data["ca.crt"] = bundle
		client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	}
	s.client = s3.New(s3.Options{
		BaseEndpoint: &endpoint, Region: region, UsePathStyle: true, HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
	})
	return s
}

// newBucket creates a bucket and deletes it when the test ends.
func (s server) newBucket(t *testing.T) string {
	t.Helper()
	bucket := "etcd-conformance-" + strings.ToLower(rand.Text())
	if _, err := s.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatalf("create a bucket: %v", err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		l := s.location
		l.Bucket = bucket
		store := s.open(t, l)
		for object, err := range store.List(ctx, "") {
			if err == nil {
				err = store.Delete(ctx, object.Key)
			}
			if err != nil {
				t.Errorf("empty bucket %s: %v", bucket, err)
			}
		}
		if _, err := s.client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket}); err != nil {
			t.Errorf("delete bucket %s: %v", bucket, err)
		}
	})
	return bucket
}

func (s server) open(t *testing.T, l connect.Access) objstore.Store {
	t.Helper()
	store, err := connect.Open(context.WithoutCancel(t.Context()), l)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// inOneRequest reports whether an object was created in one request. Other objects have a number of parts.
func (s server) inOneRequest(t *testing.T, bucket, key string) bool {
	t.Helper()
	head, err := s.client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key, PartNumber: aws.Int32(1)})
	if err != nil {
		t.Fatal(err)
	}
	return head.PartsCount == nil
}
