package objstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// A page of a listing takes up to 64 MiB while an SDK decodes it, and a second of a processor. A namespace may have hundreds of listings at the same
// time, and its server decides how long each of them waits for the next page. So a page is first read whole, which takes the memory of its bytes. Then it
// is decoded in turn, and only its names are kept until the next one.

const (
	// decodings is how many pages are decoded at the same time, whatever computer this runs on: it bounds memory, too. A page takes a second at most.
	decodings = 2
	// PagesMemory is what the pages take that are decoded at the same time.
	PagesMemory = decodings * 64 << 20
	// usualPage is how many bytes of a page, and of its names, do not count to the memory of names. A page of 1000 names has less, unless they are long.
	usualPage = 512 << 10
)

// decoding is one for the process, because the process has one memory. One namespace leaves a turn to others.
var decoding = turns.NewGate(decodings)

// page is what a listing holds of its present page.
type page struct {
	mu      sync.Mutex
	holding *Holding
	counted int64
	leave   func() // ends the turn; nil outside of one
}

func newPage(ctx context.Context) *page {
	p := &page{holding: &Holding{}}
	if h, _ := ctx.Value(holdingKey{}).(*Holding); h != nil {
		p.holding.namespace = h.namespace
	}
	return p
}

// hold counts that many bytes of the page, in place of those before.
func (p *page) hold(size int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	size = max(size-usualPage, 0)
	if size <= p.counted {
		p.holding.Return(p.counted - size)
		p.counted = size
		return nil
	}
	if err := p.holding.Add(size - p.counted); err != nil {
		return err
	}
	p.counted = size
	return nil
}

// decoded ends the turn.
func (p *page) decoded() {
	p.mu.Lock()
	leave := p.leave
	p.leave = nil
	p.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// drop forgets the page.
func (p *page) drop() {
	p.decoded()
	_ = p.hold(0)
}

// read reads the bytes of a page. They count as they arrive, because the server decides how long that takes.
func (p *page) read(body io.Reader) ([]byte, error) {
	var content bytes.Buffer
	for {
		n, err := io.CopyN(&content, body, 64<<10)
		if errors.Is(err, io.EOF) {
			return content.Bytes(), nil
		}
		if err == nil && n > 0 {
			err = p.hold(int64(content.Cap()))
		}
		if err != nil {
			return content.Bytes(), err
		}
	}
}

// enter waits for the turn.
func (p *page) enter(ctx context.Context) error {
	leave, err := decoding.Enter(turns.Stay(ctx), p.holding.namespace)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave = leave
	return nil
}

type wholePage struct {
	io.Reader
	body io.Closer
	end  func()
}

// Close ends the turn.
func (w wholePage) Close() error {
	defer w.end()
	return w.body.Close()
}

// failing ends with an error, or with io.EOF.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

const (
	// MaxToken is how long the text may be with which a store is asked for the next page, or for the parts of an upload. Those of stores have a few KiB at most, and
	// a request has it several times.
	MaxToken = 16 << 10
	// maxUpload is how long the ID of an upload in a listing may be. Those of stores have a few hundred bytes.
	maxUpload = 4 << 10
)

// CheckToken refuses a text of a store that is longer than MaxToken.
func CheckToken(text string) error {
	if len(text) <= MaxToken {
		return nil
	}
	return Own(fmt.Errorf("%w: what the next request must repeat has %d KiB, and no store sends more than %d KiB", ErrNoStore, len(text)>>10, MaxToken>>10))
}
