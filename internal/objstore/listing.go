package objstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
)

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
