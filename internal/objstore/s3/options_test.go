package s3

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// recorder is an S3 server that accepts everything and records the headers.
type recorder struct {
	mu       sync.Mutex
	requests map[string]http.Header
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	kind := takeParts(w, req)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[kind] = req.Header.Clone()
}

// takeParts answers the requests of a multipart upload and returns the kind of each request.
func takeParts(w http.ResponseWriter, r *http.Request) (kind string) {
	switch query := r.URL.Query(); {
	case query.Has("uploads"):
		_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
		return "create"
	case query.Has("partNumber"):
		w.Header().Set("ETag", `"1"`)
		return "part"
	case query.Has("uploadId") && r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
		return "abort"
	case query.Has("uploadId"):
		_, _ = io.WriteString(w, "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>")
		return "complete"
	}
	return r.Method
}

func TestOptionsAreSentAsHeaders(t *testing.T) {
	key := bytes.Repeat([]byte("k"), 32)
	const sse, sum = "X-Amz-Server-Side-Encryption", "X-Amz-Checksum-Crc32"
	writing := []string{"PUT", "create"}
	for name, test := range map[string]struct {
		config Config
		want   map[string]string
		in     []string
	}{
		"SSE-S3":                   {Config{Options: Options{Encryption: SSES3}}, map[string]string{sse: "AES256"}, writing},
		"SSE-KMS":                  {Config{Options: Options{Encryption: SSEKMS, KMSKeyID: "alias/etcd"}}, map[string]string{sse: "aws:kms", sse + "-Aws-Kms-Key-Id": "alias/etcd"}, writing},
		"SSE-KMS, default":         {Config{Options: Options{Encryption: SSEKMS}}, map[string]string{sse: "aws:kms", sse + "-Aws-Kms-Key-Id": ""}, writing},
		"a storage class":          {Config{Options: Options{StorageClass: "STANDARD_IA"}}, map[string]string{"X-Amz-Storage-Class": "STANDARD_IA"}, writing},
		"tags":                     {Config{Options: Options{Tags: map[string]string{"team": "a&b", "for": "ü"}}}, map[string]string{"X-Amz-Tagging": "for=%C3%BC&team=a%26b"}, writing},
		"a lock until a date":      {Config{Options: Options{LockMode: "COMPLIANCE", RetainUntil: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}}, map[string]string{"X-Amz-Object-Lock-Mode": "COMPLIANCE", "X-Amz-Object-Lock-Retain-Until-Date": "2030-01-02T03:04:05Z"}, writing},
		"a lock and its checksums": {Config{Options: Options{LockMode: "GOVERNANCE", RetainFor: time.Hour}}, map[string]string{sum: "*"}, []string{"PUT", "part"}},
		"nothing": {Config{}, map[string]string{
			sse: "", sum: "", "X-Amz-Storage-Class": "", "X-Amz-Tagging": "", "X-Amz-Object-Lock-Mode": "", "X-Amz-Object-Lock-Retain-Until-Date": "", sse + "-Customer-Key": "",
		}, []string{"PUT", "create", "part", "complete"}},
		"SSE-C": {Config{CustomerKey: key}, map[string]string{
			sse: "", sse + "-Customer-Algorithm": "AES256", sse + "-Customer-Key": base64.StdEncoding.EncodeToString(key), sse + "-Customer-Key-Md5": "*",
		}, []string{"PUT", "create", "part", "complete", "GET"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{requests: map[string]http.Header{}}
			server := httptest.NewServer(r)
			defer server.Close()
			c := test.config
			c.Bucket, c.Endpoint, c.ForcePathStyle, c.AccessKeyID, c.SecretAccessKey, c.KeysFor = "bucket", server.URL, true, "id", "secret", server.URL
			store, err := Open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{10, partSize + 1} {
				if err := store.Put(t.Context(), "key", bytes.NewReader(make([]byte, size))); err != nil {
					t.Fatal(err)
				}
			}
			body, err := store.Get(t.Context(), "key")
			if err != nil {
				t.Fatal(err)
			}
			_ = body.Close()
			for _, kind := range test.in {
				for header, want := range test.want {
					if got := r.requests[kind].Get(header); got != want && (want != "*" || got == "") {
						t.Errorf("%s says %s: %q, want %q", kind, header, got, want)
					}
				}
			}
			for kind, header := range map[string]string{"PUT": "If-None-Match", "complete": "If-None-Match"} {
				if got := r.requests[kind].Get(header); got != "*" {
					t.Errorf("%s says %s: %q: it could replace an object", kind, header, got)
				}
			}
		})
	}
}

func TestRetainForIsCountedFromTheUpload(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	got := Options{LockMode: "GOVERNANCE", RetainFor: 48 * time.Hour}.retainUntil(noon)
	if got == nil || !got.Equal(noon.Add(48*time.Hour)) {
		t.Errorf("%v, want two days later", got)
	}
}

func TestCustomerKeyIs32BytesOrTheirBase64(t *testing.T) {
	raw := bytes.Repeat([]byte{0xfe}, 32)
	for name, text := range map[string][]byte{
		"bytes as they are": raw,
		"their base64":      []byte(base64.StdEncoding.EncodeToString(raw)),
	} {
		if got, err := CustomerKey(text); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%s: %x, error %v", name, got, err)
		}
	}
	for _, text := range []string{"", "VERYSECRET", base64.StdEncoding.EncodeToString(raw[:31])} {
		if _, err := CustomerKey([]byte(text)); err == nil || strings.Contains(err.Error(), "VERYSECRET") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestMetadataIsNeverPutIntoAnArchive(t *testing.T) {
	r := &recorder{requests: map[string]http.Header{}}
	server := httptest.NewServer(r)
	defer server.Close()
	store, err := Open(t.Context(), Config{
		Bucket: "bucket", Endpoint: server.URL, ForcePathStyle: true, AccessKeyID: "id", SecretAccessKey: "secret",
		Options: Options{StorageClass: "GLACIER", Encryption: SSES3},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "key.json", objstore.NewMetadata([]byte("{}"))); err != nil {
		t.Fatal(err)
	}
	if got := r.requests["PUT"]; got.Get("X-Amz-Storage-Class") != "" || got.Get("X-Amz-Server-Side-Encryption") != "AES256" {
		t.Errorf("sent %v", got)
	}
}
