package connect_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
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

// tokenPage returns a page with one name or none that is followed by another one, and nil for a provider without pages.
func tokenPage(provider v1beta2.StorageType, token string, name bool) []byte {
	of := func(text string) string { return map[bool]string{true: text}[name] }
	switch provider {
	case v1beta2.StorageS3:
		return []byte("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" + token + "</NextContinuationToken>" +
			of("<Contents><Key>k</Key></Contents>") + "</ListBucketResult>")
	case v1beta2.StorageGCS:
		return []byte(`{"nextPageToken":"` + token + `","items":[` + of(`{"name":"k"}`) + `]}`)
	case v1beta2.StorageABS:
		return []byte("<EnumerationResults><Blobs>" + of("<Blob><Name>k</Name><Properties/></Blob>") + "</Blobs><NextMarker>" + token + "</NextMarker></EnumerationResults>")
	}
	return nil
}

// They are few, and their tokens have a quarter of the largest answer, because the race detector makes them 20 times as slow.
const tokenListings = 12

// tokens is a server whose first page has a long token. It reads only the beginning of the request that has the token, and never answers it.
type tokens struct {
	net.Listener
	page  []byte
	json  bool
	asked atomic.Int64
	open  sync.Map // of connections that are never answered
}

func (s *tokens) serve() {
	for {
		connection, err := s.Accept()
		if err != nil {
			return
		}
		go s.answer(connection)
	}
}

func (s *tokens) answer(connection net.Conn) {
	reader := bufio.NewReaderSize(connection, 1<<10)
	_, _ = reader.Peek(1)
	begin, _ := reader.Peek(reader.Buffered())
	for _, name := range []string{"pageToken=", "marker=", "continuation-token="} {
		if strings.Contains(string(begin), name+"%2B") {
			s.open.Store(connection, true)
			s.asked.Add(1)
			return // the connection is open until the process closes it
		}
	}
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	defer request.Body.Close()
	kind := map[bool]string{true: "application/json", false: "application/xml"}[s.json]
	_, _ = fmt.Fprintf(connection, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", kind, len(s.page))
	_, _ = connection.Write(s.page)
	_ = connection.Close()
}

// A store of a user answered each listing with a token of 4 MiB for the next page, and never returned that page. The operator held the request with the token
// several times for each listing: 3 GiB for 50 listings, which ended it for all namespaces.
func TestTheTokensOfManyListingsTakeBoundedMemory(t *testing.T) {
	for _, provider := range storage.Providers() {
		for _, names := range []bool{true, false} {
			page := tokenPage(provider, strings.Repeat("+", stall.MaxAnswer/4), names)
			if page == nil {
				continue
			}
			t.Run(fmt.Sprintf("%s, with a name: %t", provider, names), func(t *testing.T) {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer listener.Close()
				hostile := &tokens{Listener: listener, page: page, json: provider == v1beta2.StorageGCS}
				go hostile.serve()
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, tokenListings)
				defer debug.SetGCPercent(debug.SetGCPercent(25)) // garbage does not count
				heaptest.Bound(t, 60, func() {
					for range tokenListings {
						store, err := connect.Open(t.Context(), accessTo(provider, "http://"+listener.Addr().String()))
						if err != nil {
							t.Fatal(err)
						}
						go func() {
							held, names := objstore.Hold(objstore.Unheld(ctx), "hostile")
							defer names.Release()
							ended <- listAll(held, store)
						}()
					}
					for tried := 0; int(hostile.asked.Load())+len(ended) < tokenListings && tried < 600; tried++ {
						<-time.After(50 * time.Millisecond)
					}
				})
				cancel()
				for range tokenListings {
					if err := <-ended; !errors.Is(err, objstore.ErrNoStore) && !errors.Is(err, objstore.ErrMemory) {
						t.Errorf("error %.200v", err)
					}
				}
			})
		}
	}
}
