package objstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// progress is how far a listing has come. Its context ends when a limit is passed, so that no client tries again.
type progress struct {
	ctx      context.Context //nolint:containedctx // it is the context of the listing
	end      context.CancelCauseFunc
	limits   Limits
	timer    *time.Timer
	since    time.Time     // the caller asked for the next name
	spent    time.Duration // by the store
	waited   atomic.Int64  // for the turn of a page, in nanoseconds
	requests atomic.Int64  // since the last name
	page     *page
	pace     slowness
}

type progressKey struct{}

func newProgress(ctx context.Context, limits Limits) *progress {
	p := &progress{limits: limits, since: time.Now(), page: newPage(ctx)}
	p.ctx, p.end = context.WithCancelCause(context.WithValue(ctx, progressKey{}, p))
	p.timer = time.AfterFunc(limits.Silence, func() {
		p.end(fmt.Errorf("%w: the store has returned no name for %s", ErrListing, limits.Silence))
	})
	p.pace.asks(p.since)
	p.pace.timer = time.AfterFunc(time.Hour, panics.Caught(p.look, p.end))
	p.pace.timer.Reset(slowLook)
	return p
}

// name records that the store has returned a name or an error, and returns the error that the caller gets.
func (p *progress) name(err error) error {
	p.timer.Stop()
	p.requests.Store(0)
	p.page.decoded()
	took := time.Since(p.since) - time.Duration(p.waited.Swap(0))
	p.pace.named(took)
	if p.spent += took; p.spent > p.limits.Total {
		return fmt.Errorf("%w: the store needs more than %s for it", ErrListing, p.limits.Total)
	}
	if cause := context.Cause(p.ctx); err != nil && (errors.Is(cause, ErrListing) || errors.Is(cause, ErrMemory)) {
		return cause
	}
	return err
}

// look ends a listing that is slow while others lack memory.
func (p *progress) look() {
	if why := p.pace.look(p.page.holding.namespace, time.Duration(p.waited.Load())); why != nil {
		p.end(why)
	}
	if p.ctx.Err() == nil {
		p.pace.timer.Reset(slowLook)
	}
}

func (p *progress) stop() {
	p.timer.Stop()
	p.pace.timer.Stop()
	p.end(nil)
	p.page.drop()
}

func (p *progress) resume() {
	p.since = time.Now()
	p.pace.asks(p.since)
	p.timer.Reset(p.limits.Silence)
}

// CountRequest counts a request of a listing. Its error ends the listing. Requests of anything else are not counted.
func CountRequest(ctx context.Context) error {
	p, ok := ctx.Value(progressKey{}).(*progress)
	if !ok {
		return nil
	}
	if p.page.drop(); p.requests.Add(1) <= p.limits.Requests {
		return nil
	}
	err := fmt.Errorf("%w: the store has answered %d requests in a row without a name", ErrListing, p.limits.Requests)
	p.end(err)
	return err
}

// WholePage reads the answer to a request of a listing to its end, and waits for the turn to decode it. The turn ends with the body, or with HoldNames if
// the SDK decodes it later. The body of any other answer is returned as it is.
func WholePage(ctx context.Context, body io.ReadCloser, later bool) io.ReadCloser {
	p, is := ctx.Value(progressKey{}).(*progress)
	if !is || body == nil {
		return body
	}
	content, err := p.page.read(body)
	if err == nil {
		err = p.waiting(func() error { return p.page.enter(ctx) })
	}
	if errors.Is(err, ErrMemory) || errors.Is(err, ErrListing) {
		p.end(err) // no client tries again
	}
	end := p.page.decoded
	if later {
		end = func() {}
	}
	return wholePage{io.MultiReader(bytes.NewReader(content), failing{err}), body, end}
}

// waiting calls a function whose time does not count as that of the store.
func (p *progress) waiting(wait func() error) error {
	began := time.Now()
	p.timer.Stop()
	err := wait()
	p.waited.Add(int64(time.Since(began)))
	p.timer.Reset(p.limits.Silence)
	return err
}

// HoldNames ends the turn of a page, and counts its names until the next page. Each store calls it when it holds nothing else of the page but the text for the next
// one, which it checks.
func HoldNames[T any](ctx context.Context, names []T, key func(T) string, next string) error {
	if err := CheckToken(next); err != nil {
		return err
	}
	p, is := ctx.Value(progressKey{}).(*progress)
	if !is {
		return nil
	}
	p.page.decoded()
	size := int64(0)
	for _, name := range names {
		size += int64(len(key(name))) + NameBytes
	}
	return p.page.hold(size)
}
