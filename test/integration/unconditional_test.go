package integration

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// Some S3 servers refuse each write with a condition. Without checkBeforeWrite they store nothing, and with it they replace nothing.
func TestAServerWithoutConditionalWritesIsUsedIfTheSpecChecksBeforeItWrites(t *testing.T) {
	t.Parallel()
	server := servers.S3(t)
	endpoint := withoutConditions(t, server.Endpoint)
	var count atomic.Int32
	location := func(t *testing.T, check bool) connect.Access {
		bucket := fmt.Sprintf("bucket-%d", count.Add(1))
		server.CreateBucket(t, bucket)
		l := s3Location(server, bucket)
		l.Endpoint, l.Options.S3.CheckBeforeWrite = endpoint, check
		return l
	}
	t.Run("refuses to write without the field", func(t *testing.T) {
		err := open(t, location(t, false)).Put(t.Context(), "key", strings.NewReader("x"))
		if !errors.Is(err, objstore.ErrNotImplemented) {
			t.Errorf("got the error %v, want %v", err, objstore.ErrNotImplemented)
		}
	})
	objstoretest.RunCheckedFirst(t, func(t *testing.T) objstore.Store { return open(t, location(t, true)) })
}

// withoutConditions puts a proxy before a server that answers as one does that does not implement If-None-Match.
func withoutConditions(t *testing.T, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Host = r.In.Host // it is signed
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == "" {
			forward.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>NotImplemented</Code><Message>If-None-Match is not implemented.</Message></Error>`)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}
