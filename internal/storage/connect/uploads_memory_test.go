package connect_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// segment is a file that is stored, as the segments of archives are.
type segment struct {
	*os.File
	size int64
}

func (s segment) Reread() io.ReaderAt { return s.File }
func (s segment) Size() int64         { return s.size }
func (s segment) SizeHint() int64     { return s.size }

// A store accepted the requests of a hundred archives, and did not answer. Each upload to Azure had 12 MiB of its segment in memory, and each one to Google 8 MiB.
func TestUploadsThatStallHoldNoBodyThatCanBeReadAgain(t *testing.T) {
	const uploads = 20
	path := filepath.Join(t.TempDir(), "segment")
	if err := os.WriteFile(path, bytes.Repeat([]byte("segment "), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, provider := range storage.Providers() {
		if small[provider] == nil {
			continue
		}
		t.Run(string(provider), func(t *testing.T) {
			var asked atomic.Int64
			ctx, end := context.WithCancel(t.Context())
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.CopyN(io.Discard, r.Body, 1<<10)
				asked.Add(1)
				select {
				case <-ctx.Done():
				case <-r.Context().Done():
				}
			}))
			defer server.Close()
			defer debug.SetGCPercent(debug.SetGCPercent(25)) // garbage does not count
			ended := make(chan error, uploads)
			heaptest.Bound(t, uploads, func() {
				for range uploads {
					store, err := connect.Open(t.Context(), accessTo(provider, server.URL))
					if err != nil {
						t.Fatal(err)
					}
					file, err := os.Open(path)
					if err != nil {
						t.Fatal(err)
					}
					defer file.Close()
					go func() { ended <- store.Put(ctx, "key", segment{file, 8 << 20}) }()
				}
				for tried := 0; asked.Load() < uploads && tried < 600; tried++ {
					<-time.After(50 * time.Millisecond)
				}
			})
			end()
			if n := asked.Load(); n < uploads {
				t.Errorf("%d requests of %d", n, uploads)
			}
			for range uploads {
				<-ended
			}
		})
	}
}
