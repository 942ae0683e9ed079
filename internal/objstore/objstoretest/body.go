package objstoretest

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// kind wraps a reader of about size bytes as a body.
type kind func(t *testing.T, r io.Reader, size int64) io.Reader

// once returns a body without any other interface.
func once(_ *testing.T, r io.Reader, _ int64) io.Reader { return r }

// kept returns a body that can be read again and announces its size, as snapshots do.
func kept(t *testing.T, r io.Reader, size int64) io.Reader {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &spooled{r, f, size}
}

// spooled is an objstore.Rereader.
type spooled struct {
	body io.Reader
	file *os.File
	size int64
}

func (s *spooled) Size() int64         { return s.size }
func (s *spooled) Reread() io.ReaderAt { return s.file }

func (s *spooled) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if _, writeErr := s.file.Write(p[:n]); writeErr != nil {
		return 0, writeErr
	}
	return n, err
}

// errBody is what a failing body returns.
var errBody = errors.New("the body failed on purpose")

// pattern returns n bytes that only depend on seed, so that they can be compared without keeping them in memory.
func pattern(seed byte, n int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{seed}), n)
}

// failing returns the good bytes and then err instead of io.EOF.
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

// gated returns its first bytes, closes reached, and waits for gate before the rest.
type gated struct {
	first, rest io.Reader
	reached     chan struct{}
	gate        chan struct{}
	passed      bool
}

func newGated(first, rest io.Reader) *gated {
	return &gated{first: first, rest: rest, reached: make(chan struct{}), gate: make(chan struct{})}
}

// wait waits until the first bytes were read.
func (g *gated) wait(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case <-g.reached:
	case err := <-done:
		t.Fatalf("the upload ended before its body: %v", err)
	}
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
