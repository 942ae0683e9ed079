package follower

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/turns"
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

// aMinute is how often a copy must have moved something while others wait for its memory.
const aMinute = time.Minute

// yielding returns a context that ends with turns.ErrOthersWaited if the copy moves too little in a minute, and others wait for its memory at the end of it. What
// is read from the first location counts, and what requests to the second one send.
func yielding(ctx context.Context, body *checkedLink, held Held) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := func() { end(context.Canceled) }
	if held.Crowded == nil {
		return ctx, stop
	}
	floor := cmp.Or(held.Floor, Slowest)
	ctx, sent := pace.Counted(ctx)
	go panics.Caught(func() {
		for before := int64(0); ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(aMinute):
			}
			now := body.size.Load() + sent.Bytes()
			if moved := now - before; moved < floor*int64(aMinute/time.Second) && held.Crowded() {
				end(fmt.Errorf("%w, and this copy moved %d KiB in a minute, while the minimum is %d KiB a second", turns.ErrOthersWaited, moved>>10, floor>>10))
				return
			}
			before = now
		}
	}, end)()
	return ctx, stop
}
