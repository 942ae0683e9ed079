package follower

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// checkedLink is the object of a link. It returns io.EOF only if its records are those that the header describes. The records of an encrypted link
// cannot be read, and end with the object.
type checkedLink struct {
	body io.Reader
	size atomic.Int64
	most int64 // bytes that the object of such a header may have
	err  error // why the object cannot be read
	// inRead is true during a read, and slow if the time of the copy ended then.
	inRead, slow atomic.Bool
	// to receives what is read, and done its judgement. They are nil if there is nothing to compare.
	to   *io.PipeWriter
	done chan error
}

// slackOfLink is more than an object has beside its header and its records: the beginnings of a compressed and an encrypted object.
const slackOfLink = 1 << 20

func newCheckedLink(ctx context.Context, body io.Reader, link *opened, n archive.Name) *checkedLink {
	h, key := link.header, link.key
	// What cannot be compressed becomes a little larger, and each 64 KiB have 16 bytes more if they are encrypted.
	c := &checkedLink{body: body, most: link.size() + h.Size/64 + slackOfLink}
	if h.Gap() || h.Encryption != "" {
		return c
	}
	from, to := io.Pipe()
	c.to, c.done = to, make(chan error, 1)
	done := c.done
	end := func(err error) {
		_ = from.CloseWithError(err) // the writer does not wait any more
		done <- err
	}
	go panics.Caught(func() { end(judge(ctx, from, key, n)) }, end)()
	return c
}

// judge reads a link to its end. The error is nil if it is as it was written. It runs in the operator, so it decodes no record.
func judge(ctx context.Context, object io.ReadCloser, key string, n archive.Name) error {
	r, err := archive.NewReader(object, key, n)
	if err != nil {
		return err
	}
	if err := r.Decode(ctx, nil); err != nil {
		return err
	}
	if err := r.Verify(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, object) // what a decoder leaves
	return err
}

func (c *checkedLink) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	c.inRead.Store(true)
	n, err := c.body.Read(p)
	c.inRead.Store(false)
	if c.size.Add(int64(n)) > c.most {
		c.err = fmt.Errorf("%w: the object has more than %d KiB, which is more than one with such a header has", archive.ErrCorrupt, c.most>>10)
		return 0, c.err
	}
	if c.to != nil && n > 0 {
		if _, failed := c.to.Write(p[:n]); failed != nil {
			c.err = failed
			return 0, failed
		}
	}
	if errors.Is(err, io.EOF) && c.to != nil {
		_ = c.to.Close()
		if failed := <-c.done; failed != nil {
			err = failed
		}
		c.to = nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// late notes whether the copy waits for the object when its time ends.
func (c *checkedLink) late() { c.slow.Store(c.inRead.Load()) }

// failure returns why the object cannot be read. If the time of the copy has ended while the other location was busy, that was too slow, and not this one.
func (c *checkedLink) failure(limited context.Context) error {
	if errors.Is(c.err, context.Canceled) && limited.Err() != nil && !c.slow.Load() {
		return nil
	}
	return c.err
}

// stop ends the comparison of an object that was not read to its end.
func (c *checkedLink) stop() {
	if c.to != nil {
		_ = c.to.CloseWithError(io.ErrClosedPipe)
	}
}
