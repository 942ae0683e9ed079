package source

import (
	"context"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// counted is a store that tells how many bytes of an object have been read. That it does not go silent for ever is for
// the store itself to see to, see objstore/stall.
type counted struct {
	objstore.Getter
	progress func(key string, bytes int64)
}

// Get opens key.
func (c counted) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := c.Getter.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return &countedBody{ReadCloser: body, told: func(bytes int64) { c.progress(key, bytes) }}, nil
}

type countedBody struct {
	io.ReadCloser
	bytes int64
	told  func(int64)
}

func (b *countedBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	b.bytes += int64(n)
	b.told(b.bytes)
	return n, err
}
