package connect_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// The stores of five namespaces refused each listing, and asked for a pause of 5 s. The SDK of Azure kept the turn to decode a page during that pause, so each page
// of another namespace waited for it.
func TestAListingThatPausesKeepsNoTurn(t *testing.T) {
	for _, provider := range storage.Providers() {
		page := tokenPage(provider, "", true)
		if page == nil {
			continue
		}
		for name, refuse := range map[string]func(w http.ResponseWriter){
			"unavailable": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
			"another MD5": func(w http.ResponseWriter) { w.Header().Set("x-ms-error-code", "Md5Mismatch") },
		} {
			t.Run(fmt.Sprintf("%s: %s", provider, name), func(t *testing.T) {
				var refused atomic.Int64
				hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", "5")
					refuse(w)
					refused.Add(1)
				}))
				defer hostile.Close()
				honest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "application/xml"}[provider == v1beta2.StorageGCS])
					_, _ = w.Write(page)
				}))
				defer honest.Close()
				ctx, cancel := context.WithCancel(t.Context())
				var listings sync.WaitGroup
				defer listings.Wait()
				defer cancel()
				const namespaces = 5
				for i := range namespaces {
					listings.Go(func() { _ = listOf(ctx, t, fmt.Sprint("hostile-", i), provider, hostile.URL) })
				}
				for refused.Load() < namespaces {
					<-time.After(10 * time.Millisecond)
				}
				began := time.Now()
				for range 3 {
					if err := listOf(ctx, t, "honest", provider, honest.URL); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("three pages took %s", took)
				}
			})
		}
	}
}

func listOf(ctx context.Context, t *testing.T, namespace string, provider v1beta2.StorageType, url string) error {
	t.Helper()
	store, err := connect.Open(ctx, accessTo(provider, url))
	if err != nil {
		return err
	}
	held, names := objstore.Hold(objstore.Unheld(ctx), namespace)
	defer names.Release()
	for _, err := range store.List(held, "k") {
		return err // one page is enough
	}
	return nil
}
