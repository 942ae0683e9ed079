package connect_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// An answer of 400 MiB ended the operator, with the backups of all namespaces.
func TestAnAnswerThatIsNoObjectHasABound(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		begins string
		sends  int // MiB, ten times the bound
		most   uint64
	}{
		"an error":  {http.StatusBadRequest, "<Error><Code>", 10 * stall.MaxRefusal >> 20, 50},
		"a listing": {http.StatusOK, `<ListBucketResult><Contents><Key>`, 10 * stall.MaxAnswer >> 20, 250},
	} {
		for _, provider := range storage.Providers() {
			t.Run(string(provider)+": "+name, func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/xml")
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.begins)
					piece := strings.Repeat("a", 1<<20)
					for range test.sends {
						if _, err := io.WriteString(w, piece); err != nil {
							return
						}
					}
				}))
				defer server.Close()
				store, err := connect.Open(t.Context(), accessTo(provider, server.URL))
				if err != nil {
					t.Fatal(err)
				}
				heaptest.Bound(t, test.most, func() { err = list(t.Context(), store) })
				if err == nil || provider == "S3" && !errors.Is(err, objstore.ErrNoStore) {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}

func list(ctx context.Context, store objstore.Store) error {
	for _, err := range store.List(ctx, "k") {
		return err
	}
	return nil
}
