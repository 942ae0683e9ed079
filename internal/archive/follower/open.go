package follower

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// opened is a link of the first location whose header was read.
type opened struct {
	key    string
	header archive.Header
	head   bytes.Buffer // what was read
	object io.ReadCloser
	unread context.CancelFunc
}

func (c Copying) open(ctx context.Context, n archive.Name) (*opened, error) {
	o := &opened{key: n.Key(c.FromRoot)}
	ctx, o.unread = context.WithCancel(ctx)
	var err error
	if o.object, err = c.From.Get(ctx, o.key); err != nil {
		o.unread()
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	header := objstore.Count(ctx, o.object)
	defer header.Done()
	r, err := archive.NewReader(io.NopCloser(io.TeeReader(header, &o.head)), o.key, n)
	if err != nil {
		o.close()
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	o.header = r.Header
	return o, nil
}

// size is what the copy takes in memory at most.
func (o *opened) size() int64 { return o.header.Size + int64(o.head.Len()) }

// close ends the reading, and drops what was read. It may be called again.
func (o *opened) close() {
	_ = o.object.Close()
	o.unread()
	o.head, o.header = bytes.Buffer{}, archive.Header{}
}
