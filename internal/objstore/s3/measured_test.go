package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/pace"
)

// zeros is a member that sends at once.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	if z.left -= n; z.left == 0 {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (z *zeros) ReadAt(p []byte, _ int64) (int, error) { clear(p); return len(p), nil }

// link is the only way to a store, for all requests together. A proxy in front of the store cuts each streaming PUT.
type link struct {
	turn           chan struct{}
	streams, parts int64         // bytes per second
	cut            time.Duration // after which the proxy cuts a streaming PUT; 0 means at its end
	size           int64
	complete       bool
}

func (l *link) Do(r *http.Request) (*http.Response, error) {
	if err := l.read(r); err != nil {
		return nil, err
	}
	uploads := r.URL.Query().Has("uploads")
	switch {
	case r.Method == http.MethodPost && uploads:
		return answer(r, 200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"), nil
	case r.Method == http.MethodPost:
		l.complete = true
		return answer(r, 200, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"), nil
	case r.Method == http.MethodHead && l.complete:
		found := answer(r, 200, "")
		found.ContentLength = l.size
		found.Header.Set("Content-Length", strconv.FormatInt(l.size, 10))
		return found, nil
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		return answer(r, 404, "<Error><Code>NoSuchKey</Code></Error>"), nil
	case r.Method == http.MethodDelete:
		return answer(r, 204, ""), nil
	}
	return answer(r, 200, ""), nil
}

func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Etag": {`"x"`}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// read takes the body from the client at the rate of the link.
func (l *link) read(r *http.Request) error {
	begin, buffer := time.Now(), make([]byte, 256<<10)
	streams := r.Method == http.MethodPut && !r.URL.Query().Has("partNumber")
	rate := l.parts
	if streams {
		rate = l.streams
	}
	for r.Body != nil {
		n, err := r.Body.Read(buffer)
		l.turn <- struct{}{}
		<-time.After(time.Duration(int64(n) * int64(time.Second) / rate))
		<-l.turn
		switch {
		case streams && (l.cut == 0 && err != nil || l.cut > 0 && time.Since(begin) > l.cut):
			return errors.New("read: connection reset by peer")
		case r.Context().Err() != nil:
			return r.Context().Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// The parts of a retry are read from the disk and not from the member, so the transfer seemed to stand still: a snapshot behind a proxy that
// cuts long requests was never stored. And once the member had sent all, nothing was measured: a store that hardly takes the parts held the
// worker for up to a day.
func TestAllThatIsSentToAStoreIsMeasured(t *testing.T) {
	for name, test := range map[string]struct {
		size           int64
		streams, parts int64
		cut            time.Duration
		slow           bool
	}{
		"a retry in parts over a link that is faster than the minimum": {100 << 20, 128 << 10, 128 << 10, 10 * time.Minute, false},
		"a streaming PUT that hardly moves":                            {100 << 20, 20 << 10, 128 << 10, time.Hour, true},
		"parts that hardly move":                                       {100 << 20, 128 << 10, 20 << 10, 10 * time.Minute, true},
		"parts that hardly move after the end of the source":           {20 << 20, 1 << 20, 20 << 10, 0, true},
		"parts that move well enough after the end of the source":      {20 << 20, 1 << 20, 100 << 10, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				store := openStore(t, Config{Endpoint: "http://127.0.0.1:1"})
				l := &link{turn: make(chan struct{}, 1), streams: test.streams, parts: test.parts, cut: test.cut, size: test.size}
				store.client = s3.New(store.client.Options(), func(o *s3.Options) { o.HTTPClient = stall.Transport{Send: l.Do} })
				ctx = pace.With(ctx, end, nil)
				source := pace.Body(ctx, io.NopCloser(&zeros{test.size}))
				defer source.Close()
				begin := time.Now()
				err := store.Put(ctx, "key", spooled{source, &zeros{}, int(test.size)})
				slow := errors.Is(context.Cause(ctx), pace.ErrTooSlow)
				if slow != test.slow || (err != nil) != test.slow || slow && time.Since(begin) > 20*time.Minute {
					t.Errorf("after %s: cause %v, error %v", time.Since(begin), context.Cause(ctx), err)
				}
			})
		})
	}
}
