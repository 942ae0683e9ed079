package s3

import (
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func TestOpenRejectsAnInvalidEndpoint(t *testing.T) {
	for name, endpoint := range map[string]string{
		"without a scheme":  "minio:9000",
		"of another scheme": "ftp://minio:9000",
		"without a host":    "https://",
		"with a password":   "https://user:VERYSECRET@minio:9000",
		"that is not a URL": "https://[VERYSECRET",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), Config{Bucket: "bucket", Endpoint: endpoint})
			if err == nil || !strings.Contains(err.Error(), "endpoint") {
				t.Fatalf("error %v, want one about the endpoint", err)
			}
			if strings.Contains(err.Error(), "VERYSECRET") {
				t.Errorf("error shows the password: %v", err)
			}
		})
	}
}

type sizedBody struct {
	io.Reader
	hint int64
}

func (b sizedBody) SizeHint() int64 { return b.hint }

func TestPartSizeKeepsTheNumberOfPartsBelowTheLimit(t *testing.T) {
	const gib = 1 << 30
	for name, test := range map[string]struct {
		body           io.Reader
		want, buffered int64
	}{
		"is 8 MiB for a body of unknown size":             {strings.NewReader(""), 8 << 20, 5 << 20},
		"is 8 MiB for a body that fits into 10,000 parts": {sizedBody{hint: 60 * gib}, 8 << 20, 7 << 20},
		"is 5 MiB for a buffered body of 40 GiB":          {sizedBody{hint: 40 * gib}, 8 << 20, 5 << 20},
		"grows for a body of 100 GiB":                     {sizedBody{hint: 100 * gib}, 12 << 20, 12 << 20},
		"grows to S3's limit of 5 TiB and on":             {sizedBody{hint: 5 << 40}, 590 << 20, 16 << 20},
		"is no more than S3 accepts":                      {sizedBody{hint: 1<<63 - 1}, 5 << 30, 16 << 20},
		"ignores an invalid hint":                         {sizedBody{hint: -1}, 8 << 20, 5 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			if got := partSizeFor(test.body, partSize, mostReplayed); got != test.want {
				t.Errorf("%d MiB, want %d MiB", got>>20, test.want>>20)
			}
			if got := partSizeFor(test.body, bufferedPart, mostBuffered); got != test.buffered {
				t.Errorf("%d MiB in memory, want %d MiB", got>>20, test.buffered>>20)
			}
		})
	}
}

func TestErrorsAreClassifiedByTheServersAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		code   string
		want   error
		text   string
	}{
		"a missing key":                       {404, "NoSuchKey", fs.ErrNotExist, "NoSuchKey"},
		"a refusal by policy":                 {403, "AccessDenied", fs.ErrPermission, "AccessDenied"},
		"a refusal of an unknown kind":        {403, "SomethingElse", fs.ErrPermission, "403 Forbidden"},
		"an expired credential":               {400, "ExpiredToken", fs.ErrPermission, "ExpiredToken"},
		"a bucket in another region":          {301, "PermanentRedirect", objstore.ErrRegion, "PermanentRedirect"},
		"a server without conditional writes": {501, "NotImplemented", objstore.ErrNotImplemented, "NotImplemented"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, "<Error><Code>"+test.code+"</Code><Message>because</Message></Error>")
			}))
			defer server.Close()
			_, err := openTest(t, server.URL, nil).Get(t.Context(), "key")
			if !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			for _, text := range []string{test.text, "key", "bucket", server.URL} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q does not contain %q", err, text)
				}
			}
		})
	}
}

func TestCABundleReplacesTheSystemsCAs(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "bytes")
	}))
	defer server.Close()
	server.Config.ErrorLog = nil
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})

	t.Run("accepts a server of the bundle", func(t *testing.T) {
		body, err := openTest(t, server.URL, bundle).Get(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		_ = body.Close()
	})
	t.Run("rejects the server without the bundle", func(t *testing.T) {
		body, err := openTest(t, server.URL, nil).Get(t.Context(), "key")
		if err == nil {
			_ = body.Close()
			t.Fatal("a certificate of an unknown CA was accepted")
		}
	})
	t.Run("rejects an invalid bundle", func(t *testing.T) {
		if _, err := Open(t.Context(), Config{Bucket: "bucket", CABundle: []byte("no certificate")}); err == nil {
			t.Error("no error")
		}
	})
}

func TestMissingCredentialsAreReportedWithAdvice(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("HOME", t.TempDir())
	store, err := Open(t.Context(), Config{Bucket: "bucket", Endpoint: "http://127.0.0.1:1", ForcePathStyle: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Get(t.Context(), "key")
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "name a Secret") {
		t.Errorf("error %v, want fs.ErrPermission that says to name a Secret", err)
	}
}

func openTest(t *testing.T, endpoint string, bundle []byte) *Store {
	t.Helper()
	store, err := Open(t.Context(), Config{
		Bucket: "bucket", Endpoint: endpoint, ForcePathStyle: true,
		AccessKeyID: "id", SecretAccessKey: "secret", CABundle: bundle,
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}
