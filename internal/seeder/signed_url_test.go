package seeder

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// signed lets the seed read its object by a signed URL only. valid is the signature that the store accepts.
func (f *fixture) signed(t *testing.T, valid string) {
	t.Helper()
	object, dir := f.object, t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sig") != valid {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.ServeFile(w, r, object)
	}))
	t.Cleanup(server.Close)
	f.request.Source.Bucket = "/does/not/exist"
	f.request.SignedURL, f.seeder.SignedURLDir = "etcdrestore-uid", dir
	if err := os.WriteFile(filepath.Join(dir, "url"), []byte(server.URL+"/one.db?sig=old"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheSeedNeedsNothingButTheSignedURL(t *testing.T) {
	f := given(t)
	f.signed(t, "old")
	if err := f.run(t); err != nil {
		t.Fatal(err)
	}
	f.wantVolume(t, "data")
}

func TestTheSeedReadsARenewedURL(t *testing.T) {
	f := given(t)
	f.signed(t, "new")
	f.seeder.RetryFor = time.Minute
	url := filepath.Join(f.seeder.SignedURLDir, "url")
	time.AfterFunc(100*time.Millisecond, func() {
		text, _ := os.ReadFile(url)
		_ = os.WriteFile(url, []byte(strings.Replace(string(text), "old", "new", 1)), 0o600)
	})
	if err := f.run(t); err != nil {
		t.Fatal(err)
	}
	f.wantVolume(t, "data")
}

func TestASeedWhoseURLHasExpiredIsTriedAgainAndItsErrorHasNoURL(t *testing.T) {
	for name, missing := range map[string]bool{"expired": false, "deleted": true} {
		t.Run(name, func(t *testing.T) {
			f := given(t)
			f.signed(t, "new")
			if missing {
				if err := os.Remove(filepath.Join(f.seeder.SignedURLDir, "url")); err != nil {
					t.Fatal(err)
				}
			}
			err := f.run(t)
			if err == nil || Code(err) != seed.ExitRetry || strings.Contains(err.Error(), "sig=") {
				t.Errorf("exit code %d: %v", Code(err), err)
			}
		})
	}
}

// A download that takes longer than RetryFor, and breaks once, is tried again.
func TestALongDownloadThatBreaksOnceIsTriedAgain(t *testing.T) {
	f := given(t)
	f.signed(t, "old")
	object, requests := f.object, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests == 1 {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(make([]byte, 4096))
			w.(http.Flusher).Flush()
			<-time.After(1200 * time.Millisecond)
			panic(http.ErrAbortHandler)
		}
		http.ServeFile(w, r, object)
	}))
	t.Cleanup(server.Close)
	if err := os.WriteFile(filepath.Join(f.seeder.SignedURLDir, "url"), []byte(server.URL+"/one.db?sig=old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.seeder.RetryFor = 1100 * time.Millisecond
	if err := f.run(t); err != nil {
		t.Errorf("after %d requests: %v", requests, err)
	}
}
