// Package signed reads one object by a signed URL, with no other credentials and no SDK of a store.
//
// The URL is a secret: no error contains its query.
package signed

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

const (
	// maxBroken is the tolerated number of broken connections in a row.
	maxBroken = 5
	// reconnectFor is how long a broken download waits for a store that refuses connections, for example while it restarts.
	reconnectFor = time.Minute
	firstPause   = 500 * time.Millisecond
	lastPause    = 15 * time.Second
)

// Reader is an objstore.Getter for one object.
type Reader struct {
	// URL returns the present URL. It is asked for each request, because a URL expires.
	URL func() (objstore.SignedURL, error)
	// CABundle holds the CA certificates (PEM) to trust instead of the system's.
	CABundle []byte
}

// Get opens the object of the URL. key only names it in errors.
func (r Reader) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	client, err := r.client()
	if err != nil {
		return nil, err
	}
	g := &getting{ctx: ctx, url: r.URL, client: client, key: key}
	if err := g.open(); err != nil {
		return nil, err
	}
	return g, nil
}

func (r Reader) client() (*http.Client, error) {
	transport := stall.Connections()
	transport.DisableCompression = true // the bytes of the object, as they are stored
	if len(r.CABundle) > 0 {
		trusted, err := pki.Pool(r.CABundle)
		if err != nil {
			return nil, fmt.Errorf("read ca.crt in the Secret: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}
	}
	return &http.Client{
		Transport: stall.Transport{Send: transport.RoundTrip},
		// A signature is valid for one host only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// getting reads the object. If a connection breaks, it continues at the same offset with a new request.
type getting struct {
	ctx    context.Context
	url    func() (objstore.SignedURL, error)
	client *http.Client
	key    string
	host   string
	body   io.ReadCloser
	offset int64
	etag   string // of the first response: later ones must be of the same object
	broken int    // broken connections in a row, without a byte in between
}

// errTemporary is in the chain if the same request may succeed later.
var errTemporary = errors.New("temporary fault")

// reopen continues at the offset. It repeats a refused request, with growing pauses.
func (g *getting) reopen() error {
	for pause, end := firstPause, time.Now().Add(reconnectFor); ; pause = min(2*pause, lastPause) {
		err := g.open()
		if err == nil || !errors.Is(err, errTemporary) || time.Now().Add(pause).After(end) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-g.ctx.Done():
			return err
		}
	}
}

func (g *getting) open() error {
	request, err := g.request()
	if err != nil {
		return err
	}
	response, err := g.client.Do(request)
	if page := (*objstore.AnswerError)(nil); errors.As(err, &page) && !page.Temporary() {
		return g.wrap(page)
	}
	if err != nil {
		return objstore.Mark(g.wrap(err), errTemporary)
	}
	want := http.StatusOK
	if g.offset > 0 {
		want = http.StatusPartialContent
	}
	if response.StatusCode != want {
		_ = response.Body.Close()
		return g.wrap(refused(response.StatusCode))
	}
	if g.offset > 0 && !strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", g.offset)) {
		_ = response.Body.Close()
		return g.wrap(errors.New("the store answers with another range, so a broken download cannot be continued"))
	}
	etag := response.Header.Get("ETag")
	if g.offset > 0 && etag != g.etag {
		_ = response.Body.Close()
		return g.wrap(errors.New("the object has changed, so a broken download cannot be continued"))
	}
	g.body, g.etag = response.Body, etag
	return nil
}

func (g *getting) request() (*http.Request, error) {
	signed, err := g.url()
	if err != nil {
		return nil, fmt.Errorf("get %q by its signed URL: %w", g.key, err)
	}
	request, err := http.NewRequestWithContext(stall.Object(g.ctx), http.MethodGet, signed.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("get %q by its signed URL: it is not a URL", g.key)
	}
	g.host = request.URL.Host
	for name, values := range signed.Header {
		request.Header[name] = values
	}
	if g.offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", g.offset))
		if !weak(g.etag) {
			request.Header.Set("If-Match", g.etag)
		}
	}
	return request, nil
}

// weak reports whether If-Match never matches the ETag (RFC 9110). Then only the ETag of the answer is compared.
func weak(etag string) bool { return strings.HasPrefix(etag, "W/") }

// refused returns the error of an answer without the object.
func refused(status int) error {
	err := fmt.Errorf("the store answers %d %s", status, http.StatusText(status))
	switch status {
	case http.StatusForbidden, http.StatusUnauthorized:
		// Not temporary: the seed tries again with the URL that is there then.
		return objstore.Mark(fmt.Errorf("%w: the URL has expired, or the identity that signed it may not read the object", err), fs.ErrPermission)
	case http.StatusNotFound:
		return objstore.Mark(err, fs.ErrNotExist)
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return objstore.Mark(err, errTemporary)
	}
	if status >= http.StatusInternalServerError {
		return objstore.Mark(err, errTemporary)
	}
	if kind := objstore.KindOfStatus(status); kind != nil {
		return objstore.Mark(err, kind)
	}
	return err
}

// wrap names the object and the host. The text of a url.Error has the whole URL.
func (g *getting) wrap(err error) error {
	if whole := (*url.Error)(nil); errors.As(err, &whole) {
		err = &unreadable{whole.Err}
	}
	return fmt.Errorf("get %q by its signed URL at %s: %w", g.key, g.host, err)
}

// unreadable is an error of the HTTP client, which may quote an answer.
type unreadable struct{ error }

func (u *unreadable) Error() string { return objstore.Cause(u.error) }
func (u *unreadable) Unwrap() error { return u.error }

func (g *getting) Read(p []byte) (int, error) {
	n, err := g.body.Read(p)
	g.offset += int64(n)
	if n > 0 {
		g.broken = 0
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if g.broken++; g.ctx.Err() != nil || g.etag == "" || g.broken > maxBroken {
		return n, g.wrap(&unreadable{err})
	}
	_ = g.body.Close()
	return n, g.reopen()
}

func (g *getting) Close() error { return g.body.Close() }
