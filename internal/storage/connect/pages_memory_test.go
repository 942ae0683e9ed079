package connect_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// hostileListings are as many as the archivers, keepers and copiers of one namespace have at the same time, by a part.
const hostileListings = 50

// paged answers each listing with a page of names that is followed by another one, for which it never answers.
type paged struct {
	page  []byte
	json  bool
	asked atomic.Int64
	ended chan struct{}
}

func (p *paged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("pageToken")+query.Get("marker")+query.Get("continuation-token") != "" {
		p.asked.Add(1)
		select {
		case <-p.ended:
		case <-r.Context().Done():
		}
		return
	}
	w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "application/xml"}[p.json])
	_, _ = w.Write(p.page)
}

// fullPage returns a page with as many names as the bound of one page permits, and nil for a provider without pages.
func fullPage(provider v1beta2.StorageType) []byte {
	within := stall.MaxEntries - 20
	switch provider {
	case v1beta2.StorageS3:
		begin := "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>2</NextContinuationToken>"
		return []byte(begin + strings.Repeat("<Contents/>", within) + "</ListBucketResult>")
	case v1beta2.StorageGCS:
		names := strings.Repeat("{},", within/(stall.ObjectWeight+1)-2) + "{}"
		return []byte(`{"nextPageToken":"2","items":[` + names + `]}`)
	case v1beta2.StorageABS:
		names := strings.Repeat("<Blob><Name>a</Name><Properties/></Blob>", within/6)
		return []byte("<EnumerationResults><Blobs>" + names + "</Blobs><NextMarker>2</NextMarker></EnumerationResults>")
	}
	return nil
}

// A user had a hundred archives in a store that answers each listing with a page at its bound, and never with the next one. Each listing held its page
// for as long as the store liked: together several GiB, which ended backup-operator for all namespaces.
func TestThePagesOfManyListingsTakeBoundedMemory(t *testing.T) {
	for _, provider := range storage.Providers() {
		if page := fullPage(provider); page != nil {
			t.Run(string(provider), func(t *testing.T) {
				hostile := &paged{page: page, json: provider == v1beta2.StorageGCS, ended: make(chan struct{})}
				server := httptest.NewServer(hostile)
				defer server.Close()
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, hostileListings)
				defer debug.SetGCPercent(debug.SetGCPercent(25)) // garbage does not count
				heaptest.Bound(t, 224, func() {
					for range hostileListings {
						store, err := connect.Open(t.Context(), accessTo(provider, server.URL))
						if err != nil {
							t.Fatal(err)
						}
						go func() {
							held, names := objstore.Hold(objstore.Unheld(ctx), "hostile")
							defer names.Release()
							ended <- listAll(held, store)
						}()
					}
					for tried := 0; int(hostile.asked.Load())+len(ended) < hostileListings && tried < 600; tried++ {
						<-time.After(50 * time.Millisecond)
					}
				})
				close(hostile.ended)
				cancel()
				for range hostileListings {
					if err := <-ended; errors.Is(err, objstore.ErrNoStore) {
						t.Fatal(err) // the page is beyond its bound, and nothing was tested
					}
				}
			})
		}
	}
}

func listAll(ctx context.Context, store objstore.Store) error {
	for _, err := range store.List(ctx, "k") {
		if err != nil {
			return err
		}
	}
	return nil
}
