package conformance

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// Snapshots rely on this contract: an object is complete or does not exist, is never replaced, and can be listed and read.
func TestS3ServerMeetsTheContract(t *testing.T) {
	s := theServer(t)
	objstoretest.Run(t, func(t *testing.T) objstore.Store { return s.open(t, s.in(s.newBucket(t))) })
	t.Run("reports a missing bucket", func(t *testing.T) {
		objstoretest.RunNoBucket(t, s.open(t, s.in("etcd-conformance-absent")), "etcd-conformance-absent")
	})
	t.Run("reports a wrong secret", func(t *testing.T) {
		l := s.in(s.newBucket(t))
		l.Data["secret-access-key"] = []byte("not-the-secret")
		objstoretest.RunDenied(t, s.open(t, l), l.Bucket, "not-the-secret")
	})
	t.Run("accepts a snapshot in one request", func(t *testing.T) {
		l := s.in(s.newBucket(t))
		body := measured(1)
		if err := s.open(t, l).Put(t.Context(), "key", body); err != nil {
			t.Fatal(err)
		}
		if !s.inOneRequest(t, l.Bucket, "key") {
			t.Error("the server accepted the snapshot only in parts. Snapshots are equally safe, but each needs one more request")
		}
	})
}

// TestS3ServerEncryptsObjects tests the kinds of encryption in S3_ENCRYPTION, for example "SSE-S3 SSE-KMS SSE-C".
// S3_KMS_KEY is the ID of the KMS key. The local server supports none.
func TestS3ServerEncryptsObjects(t *testing.T) {
	s := theServer(t)
	for _, kind := range strings.Fields(os.Getenv("S3_ENCRYPTION")) {
		t.Run(kind, func(t *testing.T) {
			l := s.in(s.newBucket(t))
			switch kind {
			case "SSE-S3":
				l.Options.S3.ServerSideEncryption = &v1beta2.S3Encryption{Type: v1beta2.SSES3}
			case "SSE-KMS":
				l.Options.S3.ServerSideEncryption = &v1beta2.S3Encryption{Type: v1beta2.SSEKMS, KMSKeyID: os.Getenv("S3_KMS_KEY")}
			case "SSE-C":
				l.CustomerKey, l.Data["sse-customer-key"], l.Data["endpoint"] = true, bytes.Repeat([]byte("k"), 32), []byte(l.Endpoint)
			default:
				t.Fatal("S3_ENCRYPTION must be a list of SSE-S3, SSE-KMS and SSE-C, separated by spaces")
			}
			store := s.open(t, l)
			for name, body := range map[string]io.Reader{
				"small": strings.NewReader("x"), "in one request": measured(2), "in parts": bytes.NewReader(content(2)),
			} {
				if err := store.Put(t.Context(), name, body); err != nil {
					t.Errorf("store object %s: %v", name, err)
				}
			}
			s.wantEncrypted(t, l, store)
		})
	}
}

// wantEncrypted checks that every object of a bucket is encrypted and readable.
func (s server) wantEncrypted(t *testing.T, l connect.Access, store objstore.Store) {
	t.Helper()
	plain := l
	plain.CustomerKey, plain.Options = false, storage.Options{}
	for _, key := range []string{"small", "in one request", "in parts"} {
		if got := read(t, store, key); len(got) != 1 && !bytes.Equal(got, content(2)) {
			t.Errorf("object %s differs from what was stored: %d bytes", key, len(got))
		}
		if l.CustomerKey {
			if body, err := s.open(t, plain).Get(t.Context(), key); err == nil {
				_ = body.Close()
				t.Errorf("object %s can be read without the key", key)
			}
			continue
		}
		head, err := s.client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &l.Bucket, Key: &key})
		if err != nil || head.ServerSideEncryption == "" {
			t.Errorf("object %s is not encrypted, error %v", key, err)
			continue
		}
		t.Logf("object %s is encrypted with %s", key, head.ServerSideEncryption)
	}
}

// in returns the location of a bucket.
func (s server) in(bucket string) connect.Access {
	l := s.location
	l.Bucket, l.Data = bucket, map[string][]byte{}
	for key, value := range s.location.Data {
		l.Data[key] = value
	}
	return l
}

// content returns the random content of a large object.
func content(seed uint64) []byte {
	b := make([]byte, objstoretest.Large)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(b)
	return b
}

// measured returns a body of known size that can be read again, as a snapshot is one.
func measured(seed uint64) io.Reader {
	b := content(seed)
	return rereader{bytes.NewReader(b), bytes.NewReader(b), int64(len(b))}
}

type rereader struct {
	io.Reader
	again io.ReaderAt
	size  int64
}

func (r rereader) Reread() io.ReaderAt { return r.again }
func (r rereader) Size() int64         { return r.size }

func read(t *testing.T, store objstore.Store, key string) []byte {
	t.Helper()
	body, err := store.Get(t.Context(), key)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		t.Error(err)
	}
	return b
}
