package s3

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// A server of a user named its upload with a text of 4 MiB. Each request for a part repeated that text several times in memory.
func TestAnUploadWithALongIDIsNotContinued(t *testing.T) {
	for length, refused := range map[int]bool{objstore.MaxToken: false, 1 << 20: true} {
		asked := false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>"+strings.Repeat("u", length)+"</UploadId></InitiateMultipartUploadResult>")
				return
			}
			asked = true
			w.WriteHeader(http.StatusForbidden)
		}))
		store := openStore(t, Config{Endpoint: server.URL})
		store.writing.streamed = partSize
		_, body := streamedBody()
		if err := store.Put(t.Context(), "key", body); errors.Is(err, objstore.ErrNoStore) != refused || asked == refused {
			t.Errorf("an ID of %d bytes: another request: %t, error %.200v", length, asked, err)
		}
		server.Close()
	}
}
