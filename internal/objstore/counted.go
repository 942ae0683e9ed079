package objstore

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	// usualObject is how many bytes of a manifest or a header do not count to the memory of names. Operators write less than that.
	usualObject = 16 << 10
	// copiesOfObject are how often its bytes are in memory: in a buffer that grows, and decoded.
	copiesOfObject = 3
)

// Counted reads an object that the caller holds whole, for example a manifest. What it has beyond a usual one counts to the memory of names as it arrives:
// the server decides how long that takes, and hundreds of them may be read at the same time.
type Counted struct {
	body    io.Reader
	holding *Holding
	read    int64
	counted int64
	spent   time.Duration // by the store
	done    bool
}

// Count returns a reader of a body. The caller calls Done when it has decoded what it has read.
func Count(ctx context.Context, body io.Reader) *Counted {
	h, _ := ctx.Value(holdingKey{}).(*Holding)
	if h != nil {
		h = &Holding{namespace: h.namespace}
	}
	return &Counted{body: body, holding: h}
}

// Read is that of io.Reader. The error is ErrMemory if others hold the memory, or if they lack it and the store takes longer than a minute, as for a listing. No object has more
// than a MiB.
func (c *Counted) Read(p []byte) (int, error) {
	began := time.Now()
	n, err := c.body.Read(p)
	if c.done {
		return n, err
	}
	c.read += int64(n)
	if c.spent += time.Since(began); err == nil && c.holding != nil && c.counted > 0 && c.spent > slowMost && othersLack(c.holding.namespace) {
		return 0, fmt.Errorf("%w: the store has sent %d KiB of an object in %s, and other namespaces lack the memory that it takes", ErrMemory, c.read>>10, c.spent.Round(time.Second))
	}
	if more := copiesOfObject*max(c.read-usualObject, 0) - c.counted; more > 0 {
		if full := c.holding.Add(more); full != nil {
			return 0, full
		}
		c.counted += more
	}
	return n, err
}

// Done returns the memory. What is read after it does not count.
func (c *Counted) Done() {
	c.holding.Return(c.counted)
	c.counted, c.done = 0, true
}
