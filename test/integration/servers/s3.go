package servers

import (
	"os"
	"path/filepath"
	"testing"
)

// S3Server is a running versitygw. It checks signatures and supports conditional
// writes, also for multipart uploads.
type S3Server struct {
	*Process
	Endpoint  string // http://127.0.0.1:port
	AccessKey string
	SecretKey string
	Region    string
	dir       string
}

// S3 starts an S3 server without buckets.
func S3(t testing.TB) *S3Server {
	t.Helper()
	program := Program(t, "versitygw")
	address := FreeAddress(t)
	s := &S3Server{
		Endpoint:  "http://" + address,
		AccessKey: "test-access-key",
		SecretKey: "test-secret-key",
		Region:    "us-east-1",
		dir:       t.TempDir(),
	}
	s.Process = newProcess(t, "versitygw", program,
		[]string{"ROOT_ACCESS_KEY=" + s.AccessKey, "ROOT_SECRET_KEY=" + s.SecretKey},
		"--port", address, "--region", s.Region, "posix", s.dir)
	s.Start()
	s.AwaitHTTP(s.Endpoint)
	return s
}

// CreateBucket creates an empty bucket. In versitygw's posix store a bucket is a
// directory.
func (s *S3Server) CreateBucket(t testing.TB, name string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(s.dir, name), 0o755); err != nil {
		t.Fatalf("create S3 bucket %s: %v", name, err)
	}
}

// BucketDir returns the directory of the bucket's objects. Each object is a file
// with its key as name. Unfinished multipart uploads are in .sgwtmp below it.
func (s *S3Server) BucketDir(name string) string { return filepath.Join(s.dir, name) }
