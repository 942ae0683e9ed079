package clients

import (
	"context"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

const (
	// usualSecret is what the Secrets of a connection have that do not count: a certificate, a key and some CAs.
	usualSecret = 16 << 10
	// parsed is how many bytes one of a Secret takes in a connection, see TestWhatABundleTakesIsCounted.
	parsed = 8
)

type keepingKey struct{}

// Keeping returns a context in which the contents of Secrets count as kept for as long as the connections that are opened with them. The caller releases the Holding.
func Keeping(ctx context.Context, h *objstore.Holding) context.Context {
	return context.WithValue(ctx, keepingKey{}, h)
}

// keep counts the contents of a Secret.
func keep(ctx context.Context, contents map[string][]byte) error {
	h, _ := ctx.Value(keepingKey{}).(*objstore.Holding)
	size := 0
	for _, content := range contents {
		size += len(content)
	}
	return h.Add(parsed * max(int64(size)-usualSecret, 0))
}
