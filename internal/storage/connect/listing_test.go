package connect_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// endless answers each listing with a page that is followed by another one, for ever.
type endless struct {
	provider v1beta2.StorageType
	names    int // of each page
	pages    atomic.Int64
}

func (e *endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := e.pages.Add(1)
	each := func(format string) string {
		var all strings.Builder
		for i := range e.names {
			fmt.Fprintf(&all, format, fmt.Sprintf("folder/%012d-%06d", page, i))
		}
		return all.String()
	}
	header, body := "application/xml", ""
	switch {
	case e.provider == v1beta2.StorageGCS:
		items := strings.TrimSuffix(each(`{"name":"%s","size":"1","timeCreated":"2026-11-24T00:00:00Z"},`), ",")
		header, body = "application/json", fmt.Sprintf(`{"kind":"storage#objects","nextPageToken":"%d","items":[%s]}`, page, items)
	case e.provider == v1beta2.StorageABS:
		blobs := each(`<Blob><Name>%s</Name><Properties><Content-Length>1</Content-Length></Properties></Blob>`)
		body = fmt.Sprintf(`<EnumerationResults><Blobs>%s</Blobs><NextMarker>%d</NextMarker></EnumerationResults>`, blobs, page)
	case r.URL.Query().Has("uploads"):
		uploads := each(`<Upload><Key>%s</Key><UploadId>u</UploadId><Initiated>2026-11-24T00:00:00Z</Initiated></Upload>`)
		body = fmt.Sprintf(`<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>%d</NextKeyMarker><NextUploadIdMarker>%d</NextUploadIdMarker>%s</ListMultipartUploadsResult>`, page, page, uploads)
	default:
		contents := each(`<Contents><Key>%s</Key><Size>1</Size><LastModified>2026-11-24T00:00:00Z</LastModified></Contents>`)
		body = fmt.Sprintf(`<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>%s</ListBucketResult>`, page, contents)
	}
	w.Header().Set("Content-Type", header)
	_, _ = w.Write([]byte(body))
}

// Three functions had 3,000,000 names in memory. Each store that the operators open ends a listing that has no end, for all callers.
func TestEachStoreEndsAListingWithoutEnd(t *testing.T) {
	connect.SetLimits(t, objstore.Limits{Names: 1000, Requests: 50, Silence: time.Minute, Total: time.Minute})
	for _, provider := range storage.Providers() {
		for name, test := range map[string]struct {
			names, most int
			held        bool
			text        string
		}{
			"with names":                            {names: 100, most: 1000, held: true, text: "more than 1000 names"},
			"without names":                         {names: 0, most: 0, held: true, text: "50 requests in a row without a name"},
			"without names that the caller follows": {names: 0, most: 0, text: "50 requests in a row without a name"},
		} {
			t.Run(fmt.Sprintf("%s %s", provider, name), func(t *testing.T) {
				server := httptest.NewServer(&endless{provider: provider, names: test.names})
				defer server.Close()
				store, err := connect.Open(t.Context(), accessTo(provider, server.URL))
				if err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if !test.held {
					ctx = objstore.Unheld(ctx)
				}
				got := 0
				for _, err = range store.List(ctx, "folder/") {
					if err == nil {
						got++
					}
				}
				wantListing(t, "list", got, test.most, err, test.text)
				unfinished, ok := store.(objstore.Unfinished)
				if ok != (provider == v1beta2.StorageS3) {
					t.Errorf("the store has unfinished uploads: %v", ok)
				}
				if _, signs := store.(objstore.Signer); !signs {
					t.Error("the store signs no URLs any more")
				}
				if !ok {
					return
				}
				got = 0
				for _, err = range unfinished.Uploads(ctx, "folder/") {
					if err == nil {
						got++
					}
				}
				wantListing(t, "uploads", got, test.most, err, test.text)
			})
		}
	}
}

func wantListing(t *testing.T, call string, got, most int, err error, text string) {
	t.Helper()
	if got != most || !errors.Is(err, objstore.ErrListing) || !strings.Contains(fmt.Sprint(err), text) {
		t.Errorf("%s: %d names, expected %d; error %v", call, got, most, err)
	}
	if p := problem.Of(err); p.Reason != v1beta2.ReasonListingTooLong {
		t.Errorf("%s: the reason is %s", call, p.Reason)
	}
}

// What needs no memory for a name has no limit of their number.
func TestAListingThatNothingIsHeldOfMayBeLong(t *testing.T) {
	connect.SetLimits(t, objstore.Limits{Names: 10, Requests: 5, Silence: time.Minute, Total: time.Minute})
	for _, provider := range storage.Providers() {
		server := httptest.NewServer(&endless{provider: provider, names: 100})
		defer server.Close()
		store, err := connect.Open(t.Context(), accessTo(provider, server.URL))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, err := range store.List(objstore.Unheld(t.Context()), "folder/") {
			if got++; err != nil || got == 5000 {
				break
			}
		}
		if got != 5000 {
			t.Errorf("%s: the listing has ended after %d names", provider, got)
		}
	}
}
