package connect_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// small are the entries that take most memory for their bytes.
var small = map[v1beta2.StorageType]map[string]struct{ begin, one, end string }{
	v1beta2.StorageS3: {
		"names":      {"<ListBucketResult><IsTruncated>false</IsTruncated>", "<Contents/>", "</ListBucketResult>"},
		"attributes": {"<ListBucketResult ", `a="" `, "></ListBucketResult>"},
	},
	v1beta2.StorageGCS: {
		"names":              {`{"items":[`, "{},", "{}]}"},
		"values of a name":   {`{"items":[{"acl":[`, "{},", "{}]}]}"},
		"metadata of a name": {`{"items":[{"metadata":{"a":""`, `,"":""`, "}}]}"},
	},
	v1beta2.StorageABS: {
		"names":          {"<EnumerationResults><Blobs>", "<Blob/>", "</Blobs></EnumerationResults>"},
		"tags of a name": {"<EnumerationResults><Blobs><Blob><Tags><TagSet>", "<Tag/>", "</TagSet></Tags></Blob></Blobs></EnumerationResults>"},
	},
}

// fill returns how many of the smallest entries reach the bound in bytes, and how many stay just within that of elements.
func fill(page struct{ begin, one, end string }) []int {
	within := stall.MaxEntries - 20
	if strings.Contains(page.one, "{") {
		within = stall.MaxEntries/stall.ObjectWeight - 20
	}
	return []int{(stall.MaxAnswer - len(page.begin+page.end)) / len(page.one), within}
}

// A page of 8 MiB with empty entries had 3602 MiB in memory, which ended the operator. So the test fills the bound with the smallest entries.
func TestAPageAtTheBoundTakesBoundedMemory(t *testing.T) {
	for _, provider := range storage.Providers() {
		for name, page := range small[provider] {
			t.Run(fmt.Sprintf("%s: %s", provider, name), func(t *testing.T) {
				for i, count := range fill(page) {
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "application/xml"}[provider == "GCS"])
						_, _ = io.WriteString(w, page.begin+strings.Repeat(page.one, count)+page.end)
					}))
					defer server.Close()
					store, err := connect.Open(t.Context(), accessTo(provider, server.URL))
					if err != nil {
						t.Fatal(err)
					}
					heaptest.Bound(t, 64, func() { err = list(t.Context(), store) })
					if refused := i == 0; refused && (err == nil || provider == "S3" && !errors.Is(err, objstore.ErrNoStore)) {
						t.Errorf("%d entries: error %v", count, err)
					}
				}
			})
		}
	}
}

// A page with as many names as each store is asked for, and the longest names, is within the bound.
func TestAPageOfTheLongestNamesIsWithinTheBound(t *testing.T) {
	const (
		property   = "<Content-Language>0123456789</Content-Language>"
		properties = 30
	)
	for _, provider := range storage.Providers() {
		if small[provider] == nil {
			continue
		}
		var asked atomic.Value
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			asked.Store(query.Get("max-keys") + query.Get("maxResults") + query.Get("maxresults"))
			var all strings.Builder
			for i := range objstore.PageSize {
				name := fmt.Sprintf("k%06d", i)
				name += strings.Repeat("n", objstore.MaxName-len(name))
				switch provider {
				case "GCS":
					fmt.Fprintf(&all, `{"name":"%s","size":"1","timeCreated":"2026-11-24T00:00:00Z"},`, name)
				case "ABS":
					fmt.Fprintf(&all, `<Blob><Name>%s</Name><Properties>%s</Properties></Blob>`, name, strings.Repeat(property, properties))
				default:
					fmt.Fprintf(&all, `<Contents><Key>%s</Key><Size>1</Size><LastModified>2026-11-24T00:00:00Z</LastModified><ETag>&quot;%032d&quot;</ETag><ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType><StorageClass>STANDARD</StorageClass><Owner><ID>%064d</ID><DisplayName>owner</DisplayName></Owner></Contents>`, name, i, i)
				}
			}
			switch provider {
			case "GCS":
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"kind":"storage#objects","items":[%s]}`, strings.TrimSuffix(all.String(), ","))
			case "ABS":
				fmt.Fprintf(w, `<EnumerationResults><Blobs>%s</Blobs></EnumerationResults>`, all.String())
			default:
				fmt.Fprintf(w, `<ListBucketResult><IsTruncated>false</IsTruncated>%s</ListBucketResult>`, all.String())
			}
		}))
		defer server.Close()
		store, err := connect.Open(t.Context(), accessTo(provider, server.URL))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, err := range store.List(t.Context(), "k") {
			if err != nil {
				t.Fatalf("%s: after %d names: %v", provider, got, err)
			}
			got++
		}
		if got != objstore.PageSize || asked.Load() != fmt.Sprint(objstore.PageSize) {
			t.Errorf("%s: %d names, and it was asked for %v", provider, got, asked.Load())
		}
	}
}
