package objstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"
)

const (
	// MaxNames is how many names of one listing are held in memory.
	MaxNames = 500_000
	// PageSize is how many names a store is asked for in one answer. It is the maximum of S3 and GCS.
	PageSize = 1000
	// MaxName is the maximum length of a name in S3 and GCS, in bytes, and of every name that the operators write. A listing passes over longer
	// ones, which are not of the operators.
	MaxName = 1024
	// usualName is how many bytes a name has at most on average, if as many are held as are allowed.
	usualName = 256
)

// Limits bound one listing. Without them, a server that lists without an end uses up the memory of an operator, or keeps a worker for ever.
type Limits struct {
	// Names is the maximum number of names, unless the context is one of Unheld.
	Names int
	// Requests is how many requests in a row may return no name. Stores return some empty pages, for example for deleted objects.
	Requests int64
	// Silence is how long the store may return no name, and Total is how long it may take for all names. The time that the caller needs
	// between two names does not count.
	Silence, Total time.Duration
}

// DefaultLimits are those of the operators. The longest honest listing is that of a continuous archive: 20,000,000 names in 20,000 pages.
var DefaultLimits = Limits{Names: MaxNames, Requests: 10_000, Silence: 10 * time.Minute, Total: 2 * time.Hour}

type unheldKey struct{}

// Unheld marks the context of a listing whose names the caller does not hold, or counts with Held. Limits.Names does not apply to it.
func Unheld(ctx context.Context) context.Context { return context.WithValue(ctx, unheldKey{}, true) }

// Held counts the names that a caller holds of a listing with Unheld, and their bytes.
type Held struct {
	// Max is the maximum of names; 0 is MaxNames.
	Max int
	// Bytes is the maximum of their bytes; 0 is 256 for each of the names.
	Bytes int64
	// In counts them against the memory of the process, with Each more bytes for each name.
	In   *Holding
	Each int64

	names int
	bytes int64
}

// HeldIn returns a Held that counts names against the memory of the process. The context has the Holding.
func HeldIn(ctx context.Context, most int) Held {
	return Held{Max: most, In: HoldingOf(ctx), Each: NameBytes}
}

// Add counts one name with that many bytes. The error is ErrListing if there is more than the maximum, and ErrMemory if others hold the memory.
func (h *Held) Add(bytes int) error {
	h.Max = cmp.Or(h.Max, MaxNames)
	h.Bytes = cmp.Or(h.Bytes, int64(h.Max)*usualName)
	h.names++
	h.bytes += int64(bytes)
	switch {
	case h.names > h.Max:
		return fmt.Errorf("%w: there are more than %d names, and the operator holds no more in memory", ErrListing, h.Max)
	case h.bytes > h.Bytes:
		return fmt.Errorf("%w: what it names has more than %d MiB of texts, and the operator holds no more in memory", ErrListing, h.Bytes>>20)
	}
	return h.In.Add(int64(bytes) + h.Each)
}

// Drop returns the memory of all names, because the caller does not hold them.
func (h *Held) Drop() { h.In.Return(h.bytes + int64(h.names)*h.Each) }

// Bounded returns a store whose listings have limits. It also has the optional functions of the store: Unfinished and Signer.
func Bounded(store Store, limits Limits) Store {
	b := bounded{store, limits}
	unfinished, uploads := store.(Unfinished)
	signer, signs := store.(Signer)
	switch u := (boundedUploads{unfinished, limits}); {
	case uploads && signs:
		return struct {
			bounded
			boundedUploads
			Signer
		}{b, u, signer}
	case uploads:
		return struct {
			bounded
			boundedUploads
		}{b, u}
	case signs:
		return struct {
			bounded
			Signer
		}{b, signer}
	}
	return b
}

type bounded struct {
	Store
	limits Limits
}

// List is that of the store, within the limits.
func (b bounded) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	key := func(o Object) string { return o.Key }
	fits := func(o Object) bool { return len(o.Key) <= MaxName }
	objects := within(ctx, b.limits, fmt.Sprintf("list %q", prefix), key, fits, func(ctx context.Context) iter.Seq2[Object, error] { return b.Store.List(ctx, prefix) })
	return func(yield func(Object, error) bool) {
		for o, err := range objects {
			o.Size = min(max(o.Size, 0), mostBytes)
			if !yield(o, err) {
				return
			}
		}
	}
}

// mostBytes is more than any object has. Sums and products of sizes up to it do not overflow.
const mostBytes = 1 << 50

type boundedUploads struct {
	Unfinished
	limits Limits
}

// Uploads is that of the store, within the limits.
func (b boundedUploads) Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error] {
	key := func(u Upload) string { return u.Key + u.ID }
	fits := func(u Upload) bool { return len(u.Key) <= MaxName && len(u.ID) <= maxUpload }
	return within(ctx, b.limits, fmt.Sprintf("list unfinished uploads under %q", prefix), key, fits, func(ctx context.Context) iter.Seq2[Upload, error] {
		return b.Unfinished.Uploads(ctx, prefix)
	})
}

// within yields the names of a listing until it passes a limit. It passes over those that do not fit.
func within[T any](ctx context.Context, limits Limits, doing string, key func(T) string, fits func(T) bool, list func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	counted := ctx.Value(unheldKey{}) == nil
	return func(yield func(T, error) bool) {
		var none T
		p, held := newProgress(ctx, limits), Held{}
		if counted {
			held = HeldIn(ctx, limits.Names)
		}
		defer p.stop()
		for name, err := range list(p.ctx) {
			err = p.name(err)
			if err == nil && !fits(name) {
				p.resume()
				continue
			}
			if err == nil && counted {
				err = held.Add(len(key(name)))
			}
			if err != nil {
				if errors.Is(err, ErrListing) || errors.Is(err, ErrMemory) {
					err = fmt.Errorf("%s: %w", doing, err)
				}
				yield(none, err)
				return
			}
			if !yield(name, nil) {
				return
			}
			p.resume()
		}
	}
}

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
}

type progressKey struct{}

func newProgress(ctx context.Context, limits Limits) *progress {
	p := &progress{limits: limits, since: time.Now(), page: newPage(ctx)}
	p.ctx, p.end = context.WithCancelCause(context.WithValue(ctx, progressKey{}, p))
	p.timer = time.AfterFunc(limits.Silence, func() {
		p.end(fmt.Errorf("%w: the store has returned no name for %s", ErrListing, limits.Silence))
	})
	return p
}

// name records that the store has returned a name or an error, and returns the error that the caller gets.
func (p *progress) name(err error) error {
	p.timer.Stop()
	p.requests.Store(0)
	p.page.decoded()
	if p.spent += time.Since(p.since) - time.Duration(p.waited.Swap(0)); p.spent > p.limits.Total {
		return fmt.Errorf("%w: the store needs more than %s for it", ErrListing, p.limits.Total)
	}
	if cause := context.Cause(p.ctx); err != nil && (errors.Is(cause, ErrListing) || errors.Is(cause, ErrMemory)) {
		return cause
	}
	return err
}

func (p *progress) stop() {
	p.timer.Stop()
	p.end(nil)
	p.page.drop()
}

func (p *progress) resume() {
	p.since = time.Now()
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
