package s3

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
)

// accepting is a store that takes each part.
type accepting struct{ parts atomic.Int64 }

func (a *accepting) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Query().Has("uploads"):
		return answer(r, http.StatusOK, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"), nil
	case r.Method == http.MethodPost:
		return answer(r, http.StatusOK, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"), nil
	case r.Method == http.MethodPut:
		a.parts.Add(1)
	case r.Method == http.MethodDelete:
		return answer(r, http.StatusNoContent, ""), nil
	}
	return answer(r, http.StatusOK, ""), nil
}

// A copy announces the size that the manifest in the first location states, and the size of a part follows from it. A tenant stated a pebibyte, and sent zeros. The
// operator collected them for one part, until the kernel ended it with the backups of all namespaces.
func TestTheSizeThatOthersStateTakesNoMemory(t *testing.T) {
	for name, hint := range map[string]int64{"a pebibyte": 1 << 50, "more than can be multiplied": 1<<63 - 1, "the largest object of S3": 5 << 40} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, Config{Endpoint: "http://127.0.0.1:1"})
			all := &accepting{}
			store.client = s3.New(store.client.Options(), func(o *s3.Options) { o.HTTPClient = stall.Transport{Send: all.Do} })
			heaptest.Bound(t, 96, func() {
				_ = store.Put(t.Context(), "key", sizedBody{io.LimitReader(&zeros{1 << 62}, 512<<20), hint}) // it accepts no such object in the end
			})
			if all.parts.Load() == 0 {
				t.Error("no part was sent")
			}
		})
	}
}
