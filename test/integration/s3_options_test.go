package integration

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// TestS3KeepsTagsAndObjectLocks checks objects of one part and of several with AWS's client. versitygw keeps tags and
// locks. It ignores encryption and storage class; internal/objstore/s3 tests their headers.
func TestS3KeepsTagsAndObjectLocks(t *testing.T) {
	server := servers.S3(t)
	client := awss3.New(awss3.Options{
		BaseEndpoint: &server.Endpoint, Region: server.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	const bucket = "locked"
	if _, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String(bucket), ObjectLockEnabledForBucket: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	days := int32(2)
	for name, lock := range map[string]v1beta2.S3ObjectLock{
		"for days":     {Mode: "GOVERNANCE", RetainDays: &days},
		"until a date": {Mode: "COMPLIANCE", RetainUntil: &metav1.Time{Time: until}},
	} {
		options := v1beta2.S3Options{
			ObjectLock: &lock, Tags: map[string]string{"team": "a b+c=d", "für": "etcd"}, StorageClass: "STANDARD_IA",
			ServerSideEncryption: &v1beta2.S3Encryption{Type: v1beta2.SSES3},
		}
		l := s3Location(server, bucket)
		l.Options.S3 = options
		store := open(t, l)
		for size, body := range map[string][]byte{"one part": small, "several parts": large} {
			t.Run(name+", "+size, func(t *testing.T) {
				key := name + "/" + size
				if err := store.Put(t.Context(), key, bytes.NewReader(body)); err != nil {
					t.Fatal(err)
				}
				wantTags(t, client, bucket, key, options.Tags)
				kept, err := client.GetObjectRetention(t.Context(), &awss3.GetObjectRetentionInput{Bucket: aws.String(bucket), Key: &key})
				if err != nil {
					t.Fatal(err)
				}
				if got := kept.Retention; string(got.Mode) != string(lock.Mode) || got.RetainUntilDate.Sub(until).Abs() > time.Hour {
					t.Errorf("the object has the lock %s until %s, want %s until %s", got.Mode, got.RetainUntilDate, lock.Mode, until)
				}
				if err := store.Delete(t.Context(), key); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("delete of a locked object returned %v, want a permission error", err)
				}
				if got, err := read(t, store, key); err != nil || !bytes.Equal(got, body) {
					t.Errorf("the object differs from the body: got %d bytes, want %d, error %v", len(got), len(body), err)
				}
			})
		}
	}
}

func wantTags(t *testing.T, client *awss3.Client, bucket, key string, want map[string]string) {
	t.Helper()
	tags, err := client.GetObjectTagging(t.Context(), &awss3.GetObjectTaggingInput{Bucket: &bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	for tag, value := range want {
		if !slices.ContainsFunc(tags.TagSet, func(found types.Tag) bool { return *found.Key == tag && *found.Value == value }) {
			t.Errorf("the object has the tags %+v, want %q: %q", tags.TagSet, tag, value)
		}
	}
}
