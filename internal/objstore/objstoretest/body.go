package objstoretest

import (
	"errors"
	"io"
	"math/rand/v2"
)

// errBody is what a failing body returns.
var errBody = errors.New("the body failed on purpose")

// pattern is n bytes that depend on seed only, so that two can be compared
// without keeping them.
func pattern(seed byte, n int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{seed}), n)
}

// failing yields n good bytes and then err instead of io.EOF.
type failing struct {
	good io.Reader
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.good.Read(p)
	if errors.Is(err, io.EOF) {
		err = f.err
	}
	return n, err
}

// gated yields its first bytes, tells that it did, and waits before the rest.
type gated struct {
	first, rest io.Reader
	reached     chan struct{}
	gate        chan struct{}
	passed      bool
}

func newGated(first, rest io.Reader) *gated {
	return &gated{first: first, rest: rest, reached: make(chan struct{}), gate: make(chan struct{})}
}

func (g *gated) Read(p []byte) (int, error) {
	if !g.passed {
		n, err := g.first.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		g.passed = true
		close(g.reached)
		<-g.gate
	}
	return g.rest.Read(p)
}
