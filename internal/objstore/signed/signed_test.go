package signed

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func at(url string) func() (objstore.SignedURL, error) {
	return func() (objstore.SignedURL, error) {
		return objstore.SignedURL{URL: url + "/b/k?sig=hunter2", Header: http.Header{"X-Sse": {"key"}}}, nil
	}
}

func read(t *testing.T, r Reader) (string, error) {
	t.Helper()
	body, err := r.Get(t.Context(), "k")
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	return string(text), err
}

func TestABrokenDownloadContinuesAtItsOffsetWithThePresentURL(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 1000)
	urls, requests := 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if r.Header.Get("X-Sse") != "key" {
			t.Error("the header of the URL is missing")
		}
		w.Header().Set("ETag", `"1"`)
		if requests == 1 {
			w.Header().Set("Content-Length", "10000")
			_, _ = w.Write(content[:4000])
			panic(http.ErrAbortHandler)
		}
		if r.Header.Get("If-Match") != `"1"` {
			t.Error("the object may have changed in between")
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	got, err := read(t, Reader{URL: func() (objstore.SignedURL, error) { urls++; return at(server.URL)() }})
	if err != nil || got != string(content) || urls != 2 {
		t.Errorf("%d bytes with %d URLs: %v", len(got), urls, err)
	}
}

func TestErrorsHaveTheirKindAndNeverTheURL(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		kind   error
		says   string
	}{
		"an expired URL":         {http.StatusForbidden, fs.ErrPermission, "expired"},
		"a missing object":       {http.StatusNotFound, fs.ErrNotExist, "404"},
		"a redirect":             {http.StatusMovedPermanently, nil, "301"},
		"a server in trouble":    {http.StatusServiceUnavailable, nil, "503"},
		"a part instead of it":   {http.StatusPartialContent, nil, "206"},
		"a connection that ends": {0, nil, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if test.status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(test.status)
			}))
			defer server.Close()
			_, err := read(t, Reader{URL: at(server.URL)})
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v", err)
			}
			for _, kind := range []error{fs.ErrPermission, fs.ErrNotExist} {
				if errors.Is(err, kind) != errors.Is(test.kind, kind) {
					t.Errorf("error %v is %v: %v", err, kind, errors.Is(err, kind))
				}
			}
		})
	}
}

func TestAPrivateCAIsTrustedOnlyIfItIsGiven(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }))
	defer server.Close()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if got, err := read(t, Reader{URL: at(server.URL), CABundle: bundle}); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := read(t, Reader{URL: at(server.URL)}); err == nil {
		t.Error("an unknown CA was trusted")
	}
}

func TestABrokenDownloadContinuesAlthoughTheStoreIsBusyForASecond(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 1000)
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		w.Header().Set("ETag", `"1"`)
		switch requests {
		case 1:
			w.Header().Set("Content-Length", "10000")
			_, _ = w.Write(content[:4000])
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	got, err := read(t, Reader{URL: at(server.URL)})
	if err != nil || got != string(content) {
		t.Errorf("%d of 10000 bytes after %d requests: %v", len(got), requests, err)
	}
}

// A store behind Azure or an S3 clone that sends a weak ETag: If-Match never matches a weak one (RFC 9110).
func TestABrokenDownloadOfAWeakETagContinues(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 1000)
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		w.Header().Set("ETag", `W/"1"`)
		if requests == 1 {
			w.Header().Set("Content-Length", "10000")
			_, _ = w.Write(content[:4000])
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	got, err := read(t, Reader{URL: at(server.URL)})
	if err != nil || got != string(content) {
		t.Errorf("%d of 10000 bytes after %d requests: %v", len(got), requests, err)
	}
}

func TestABrokenDownloadDoesNotContinueInAnotherObject(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if requests == 1 {
			w.Header().Set("ETag", `W/"1"`)
			w.Header().Set("Content-Length", "10000")
			_, _ = w.Write(make([]byte, 4000))
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("ETag", `W/"2"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(make([]byte, 10000)))
	}))
	defer server.Close()
	if got, err := read(t, Reader{URL: at(server.URL)}); err == nil || requests != 2 {
		t.Errorf("%d bytes of two objects after %d requests: %v", len(got), requests, err)
	}
}
