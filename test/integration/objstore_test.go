package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// TestS3StoreHandlesFailuresAndCredentials has the tests that need control of the server. test/conformance has those that
// run on a user's server.
func TestS3StoreHandlesFailuresAndCredentials(t *testing.T) {
	t.Parallel()
	server := servers.S3(t)
	var count atomic.Int32
	location := func(t *testing.T) connect.Access {
		bucket := fmt.Sprintf("bucket-%d", count.Add(1))
		server.CreateBucket(t, bucket)
		return s3Location(server, bucket)
	}
	t.Run("removes all parts if a body fails", func(t *testing.T) {
		l := location(t)
		body := &brokenBody{left: objstoretest.Large}
		if err := open(t, l).Put(t.Context(), "key", body); !errors.Is(err, errBroken) {
			t.Fatalf("got the error %v, want that of the body", err)
		}
		wantNoFiles(t, server.BucketDir(l.Bucket))
	})
	for name, test := range map[string]struct {
		first func(*http.Request)
		want  int // number of requests
	}{
		"sends a body of known size in one request":                             {func(*http.Request) {}, 2},
		"resends the body in parts if a byte of the request changed in transit": {changeByte, 7},
	} {
		t.Run(name, func(t *testing.T) {
			l := location(t)
			direct := open(t, l)
			proxy := servers.NewFaulty(t, server.Endpoint, func(n int, r *http.Request) servers.Fault {
				if n == 1 {
					test.first(r)
				}
				return servers.Served
			})
			l.Endpoint = proxy.URL
			if err := open(t, l).Put(t.Context(), "key", rereader{bytes.NewReader(large), bytes.NewReader(large), int64(len(large))}); err != nil {
				t.Fatal(err)
			}
			if got, err := read(t, direct, "key"); err != nil || !bytes.Equal(got, large) {
				t.Errorf("the stored object differs from the body: %d bytes, error %v", len(got), err)
			}
			if got := proxy.Count(servers.Served); got != test.want {
				t.Errorf("the store sent %d requests, want %d", got, test.want)
			}
		})
	}
	t.Run("reports an unknown access key", func(t *testing.T) {
		l := location(t)
		l.Data = map[string][]byte{"access-key-id": []byte("nobody"), "secret-access-key": []byte("not-the-secret")}
		objstoretest.RunDenied(t, open(t, l), l.Bucket, "not-the-secret")
	})
	t.Run("reports a wrong region", func(t *testing.T) {
		l := location(t)
		l.Region = "eu-central-1"
		err := open(t, l).Put(t.Context(), "key", strings.NewReader("x"))
		if err == nil || !strings.Contains(err.Error(), "another region") || !strings.Contains(err.Error(), l.Bucket) {
			t.Errorf("got the error %v, want one that asks for the region", err)
		}
	})
	t.Run("accepts the Secret of the archived operator", func(t *testing.T) {
		l := location(t)
		l.Data = map[string][]byte{
			"credentials": fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", server.AccessKey, server.SecretKey),
			"config":      []byte("[default]\nregion = us-east-1\n"),
		}
		if err := open(t, l).Put(t.Context(), "key", strings.NewReader("x")); err != nil {
			t.Error(err)
		}
	})
	t.Run("reports a server that does not listen", func(t *testing.T) {
		l := s3Location(server, "bucket")
		l.Endpoint = servers.PeerURL(t)
		objstoretest.RunUnreachable(t, open(t, l), l.Endpoint)
	})
}

func TestGCSStoreMeetsTheContract(t *testing.T) {
	server := servers.GCS(t)
	var count atomic.Int32
	location := func(t *testing.T) connect.Access {
		bucket := fmt.Sprintf("bucket-%d", count.Add(1))
		server.CreateBucket(t, bucket)
		return gcsLocation(server, bucket)
	}
	objstoretest.Run(t, func(t *testing.T) objstore.Store { return open(t, location(t)) })

	t.Run("reports a missing bucket", func(t *testing.T) {
		objstoretest.RunNoBucket(t, open(t, gcsLocation(server, "absent-bucket")), "absent-bucket")
	})
	t.Run("uses STORAGE_EMULATOR_HOST and ignores the Secret", func(t *testing.T) {
		l := location(t)
		l.Endpoint = ""
		l.Data = map[string][]byte{"access-token": []byte("token")}
		t.Setenv("STORAGE_EMULATOR_HOST", server.Host)
		if err := open(t, l).Put(t.Context(), "key", strings.NewReader("x")); err != nil {
			t.Error(err)
		}
	})
	t.Run("reports a server that does not listen", func(t *testing.T) {
		l := gcsLocation(server, "bucket")
		l.Endpoint = servers.PeerURL(t)
		objstoretest.RunUnreachable(t, open(t, l), l.Endpoint)
	})
}

// changeByte changes one byte in the middle of a request's body.
func changeByte(r *http.Request) {
	r.Body = &changing{ReadCloser: r.Body, at: 1 << 20}
}

type changing struct {
	io.ReadCloser
	at int
}

func (c *changing) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.at >= 0 && c.at < n {
		p[c.at] ^= 1
	}
	c.at -= n
	return n, err
}

func s3Location(server *servers.S3Server, bucket string) connect.Access {
	return connect.Access{
		Location: storage.Location{Provider: v1beta2.StorageS3, Bucket: bucket, Endpoint: server.Endpoint, Region: server.Region, ForcePathStyle: true},
		Data: map[string][]byte{
			"access-key-id":     []byte(server.AccessKey),
			"secret-access-key": []byte(server.SecretKey + "\n"),
		},
	}
}

func gcsLocation(server *servers.GCSServer, bucket string) connect.Access {
	return connect.Access{Location: storage.Location{Provider: v1beta2.StorageGCS, Bucket: bucket, Endpoint: "http://" + server.Host}, For: grant.Process()}
}

func open(t *testing.T, l connect.Access) objstore.Store {
	t.Helper()
	store, err := connect.Open(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

var errBroken = errors.New("broken on purpose")

// brokenBody returns zero bytes and then an error.
type brokenBody struct{ left int }

func (b *brokenBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errBroken
	}
	n := min(len(p), b.left)
	clear(p[:n])
	b.left -= n
	return n, nil
}

func wantNoFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			info, _ := os.Stat(path)
			t.Errorf("the file %s with %d bytes is left over", path, info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
