package proof

import (
	"context"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// cpu is a turn of the processors. Readers of one namespace that decode large objects would otherwise keep all of them from the small objects
// of others.
type cpu struct {
	ctx   context.Context //nolint:containedctx // that of the reading
	take  func(context.Context) (func(), error)
	leave func()
}

// turn takes a turn. The caller ends it with end.
func (p Place) turn(ctx context.Context) (*cpu, error) {
	c := &cpu{ctx: ctx, take: p.CPU}
	return c, c.begin()
}

func (c *cpu) begin() (err error) {
	if c.take != nil && c.leave == nil {
		c.leave, err = c.take(c.ctx)
	}
	return err
}

func (c *cpu) end() {
	if c.leave != nil {
		c.leave()
		c.leave = nil
	}
}

// without returns a check that runs without the turn. It has a process and a queue of its own, in which it may wait for minutes.
func (c *cpu) without(check func() (dbfile.Info, error)) func() (dbfile.Info, error) {
	if c == nil {
		return check
	}
	return func() (dbfile.Info, error) {
		c.end()
		info, err := check()
		if failed := c.begin(); failed != nil && err == nil {
			err = failed
		}
		return info, err
	}
}

// waiting is a reader of a store, which may be slow, and which no turn waits for.
type waiting struct {
	io.Reader
	cpu *cpu
}

func (w waiting) Read(p []byte) (int, error) {
	w.cpu.end()
	n, err := w.Reader.Read(p)
	if failed := w.cpu.begin(); failed != nil && err == nil {
		err = failed
	}
	return n, err
}
