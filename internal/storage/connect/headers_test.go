package connect_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/wiretest"
)

// A server answers with 9 MiB of short headers, which took 160 MiB of the operator.
func TestTheHeadersOfAStoreTakeBoundedMemory(t *testing.T) {
	var head strings.Builder
	head.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")
	for i := 0; head.Len() < 9<<20; i++ {
		fmt.Fprintf(&head, "%x:\n", i)
	}
	head.WriteString("\r\n")
	for _, provider := range storage.Providers() {
		if small[provider] == nil {
			continue
		}
		t.Run(string(provider), func(t *testing.T) {
			address := wiretest.HTTP(t, func(conn net.Conn, _ *http.Request) { _, _ = io.WriteString(conn, head.String()) })
			store, err := connect.Open(t.Context(), accessTo(provider, "http://"+address))
			if err != nil {
				t.Fatal(err)
			}
			heaptest.Bound(t, 64, func() { err = list(t.Context(), store) })
			t.Log(err)
		})
	}
}

// A ">" in the value of the first attribute ended the count of attributes, so that a page took more than the bound.
func TestAttributesBehindAGreaterThanAreCounted(t *testing.T) {
	for provider, begin := range map[v1beta2.StorageType]string{
		v1beta2.StorageS3:  `<ListBucketResult x=">" `,
		v1beta2.StorageABS: `<EnumerationResults x=">" `,
	} {
		end := "></" + strings.Fields(begin)[0][1:] + ">"
		for name, one := range map[string]string{"attributes": `a="" `, "attributes without spaces": `a=""`} {
			t.Run(string(provider)+": "+name, func(t *testing.T) {
				page := begin + strings.Repeat(one, (stall.MaxAnswer-len(begin+end))/len(one)) + end
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/xml")
					_, _ = io.WriteString(w, page)
				}))
				defer server.Close()
				store, err := connect.Open(t.Context(), accessTo(provider, server.URL))
				if err != nil {
					t.Fatal(err)
				}
				heaptest.Bound(t, 64, func() { err = list(t.Context(), store) })
				t.Log(err)
			})
		}
	}
}
