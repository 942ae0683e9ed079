// Package pace ends transfers that hardly move. A server that sends a byte now and then would otherwise hold a worker and space of an
// operator, which others wait for.
package pace

import (
	"context"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

type key struct{}

// measures is what a context from With holds.
type measures struct {
	limit
	sent *meter // of all requests that send a body
}

// With returns a context whose transfers are measured: those of Body and Objects, and what each request to a store sends, see Send. end ends
// the work that waits for them. crowded returns whether others wait for the end of that work; it may be nil.
func With(ctx context.Context, end context.CancelCauseFunc, crowded func() bool) context.Context {
	l := limit{end, crowded}
	return context.WithValue(ctx, key{}, measures{l, newMeter(l)})
}

// Body measures the reads of a body. It returns the body itself if the context is not from With.
func Body(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	m, measured := ctx.Value(key{}).(measures)
	if !measured {
		return body
	}
	return &measuredBody{ReadCloser: body, meter: newMeter(m.limit)}
}

type measuredBody struct {
	io.ReadCloser
	meter *meter
}

func (b *measuredBody) Read(p []byte) (n int, err error) {
	b.meter.wait()
	defer func() { b.meter.done(int64(n)) }()
	return b.ReadCloser.Read(p)
}

func (b *measuredBody) Close() error {
	b.meter.stop()
	return b.ReadCloser.Close()
}

// Bodies measures the reads of each object of a store.
func Bodies(store objstore.Getter) objstore.Getter { return bodies{store} }

type bodies struct{ objstore.Getter }

func (b bodies) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := b.Getter.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return Body(ctx, body), nil
}
