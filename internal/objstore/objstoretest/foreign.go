package objstoretest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/wiretest"
)

// Marker stands for the content of a server that a user may not read. It has the form of a code, of a word and of a number's text.
const Marker = "VERYSECRETpage17"

// pages are bodies in the forms that stores, proxies and other servers answer with. Each place that a client may quote has the marker.
var pages = map[string]struct{ contentType, body string }{
	"JSON of Google":    {"application/json", `{"error":{"code":400,"message":"M","status":"M","errors":[{"reason":"M","message":"M","domain":"M"}],"details":[{"@type":"M","reason":"M"}]}}`},
	"JSON of a token":   {"application/json", `{"error":"M","error_description":"M","error_uri":"M"}`},
	"other JSON":        {"application/json", `{"M":"M","nextPageToken":1}`},
	"a list in JSON":    {"application/json", `{"kind":"storage#objects","items":[{"name":"k","size":"M","timeCreated":"M"}]}`},
	"XML of S3":         {"application/xml", `<?xml version="1.0"?><Error><Code>M</Code><Message>M</Message><Region>M</Region><Endpoint>M</Endpoint><RequestId>M</RequestId></Error>`},
	"a known code":      {"application/xml", `<?xml version="1.0"?><Error><Code>InvalidRequest</Code><Message>M</Message></Error>`},
	"other XML":         {"application/xml", `<M a="M">M</M><M`},
	"a list in XML":     {"application/xml", `<ListBucketResult><Contents><Key>k</Key><Size>M</Size><LastModified>M</LastModified></Contents></ListBucketResult>`},
	"a list of Azure":   {"application/xml", `<EnumerationResults><Blobs><Blob><Name>k</Name><Properties><Last-Modified>M</Last-Modified><Content-Length>M</Content-Length></Properties></Blob></Blobs></EnumerationResults>`},
	"a web page":        {"text/html", `<!DOCTYPE html><html><head><title>M</title></head><body>M nginx<hr></body></html>`},
	"a login form":      {"text/html", `<html><form action="/M"><input value="M">M</form></html>`},
	"plain text":        {"text/plain", `M: M`},
	"an empty page":     {"", ``},
	"text of no type":   {"", `M`},
	"a truncated quote": {"application/json", `"M`},
}

const readFor = 10 * time.Second

// RunForeign checks that no error of a store repeats what a server answers. open returns a store with an endpoint.
func RunForeign(t *testing.T, open func(t *testing.T, endpoint string) objstore.Store) {
	var group sync.WaitGroup // the clients wait more than they work
	defer group.Wait()
	for name, page := range pages {
		for _, status := range []int{200, 400, 403, 404, 500} {
			group.Go(func() {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", page.contentType)
					for _, header := range []string{"Server", "x-ms-error-code", "x-amz-request-id", "x-amz-id-2", "x-ms-request-id", "ETag", "Retry-After", "x-goog-hash", "Last-Modified", "x-goog-generation", "Www-Authenticate"} {
						w.Header().Set(header, Marker)
					}
					w.WriteHeader(status)
					_, _ = io.WriteString(w, strings.ReplaceAll(page.body, "M", Marker))
				}))
				defer server.Close()
				repeatsNothing(t, fmt.Sprintf("%d with %s", status, name), open(t, server.URL))
			})
		}
	}
	for name, answer := range map[string]string{
		"no HTTP":            Marker + " ready\r\n",
		"another protocol":   "HTTP/9.9 " + Marker + "\r\n\r\n",
		"a status line":      "HTTP/1.1 4x3 " + Marker + "\r\n\r\n",
		"a reason phrase":    "HTTP/1.1 400 " + Marker + "\r\nContent-Length: 0\r\n\r\n",
		"a broken header":    "HTTP/1.1 200 OK\r\n" + Marker + "\r\n\r\n",
		"a broken length":    "HTTP/1.1 200 OK\r\nContent-Length: " + Marker + "\r\n\r\n",
		"a broken encoding":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + Marker + "\r\n\r\n",
		"a broken chunk":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + Marker + "\r\n",
		"a redirect to hide": "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/" + Marker + "\r\nContent-Length: 0\r\n\r\n",
		"a broken redirect":  "HTTP/1.1 307 Found\r\nLocation: http://[" + Marker + "\r\nContent-Length: 0\r\n\r\n",
	} {
		group.Go(func() { repeatsNothing(t, name, open(t, "http://"+answering(t, answer))) })
	}
}

// answering returns the address of a server that answers each request with the same bytes.
func answering(t *testing.T, answer string) string {
	t.Helper()
	return wiretest.HTTP(t, func(conn net.Conn, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		_, _ = io.WriteString(conn, answer)
	})
}

func repeatsNothing(t *testing.T, name string, store objstore.Store) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	check := func(call string, err error) {
		if err != nil && strings.Contains(strings.ToLower(fmt.Sprintf("%v %+v", err, err)), strings.ToLower(Marker)) {
			t.Errorf("%s: %s repeats the answer: %v", name, call, err)
		}
	}
	check("put", store.Put(ctx, "folder/key", strings.NewReader("x")))
	reading, end := context.WithTimeout(ctx, readFor) // Google's client reads a broken answer again until then
	defer end()
	body, err := store.Get(reading, "folder/key")
	check("get", err)
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		check("read", err)
		_ = body.Close()
	}
	_, err = keys(ctx, store, "folder/")
	check("list", err)
	check("delete", store.Delete(ctx, "folder/key"))
}
