package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (
	// parallel is how many headers are read at the same time.
	parallel = 16
	// maxHeld is how many bytes of headers one search holds. Those of MaxLinks segments have 26 MiB at a segment every 5 seconds.
	maxHeld = 64 << 20
)

// held counts the bytes of the headers and starts that a search holds, also against the memory of the process.
type held struct {
	bytes atomic.Int64
	in    *objstore.Holding
}

// add counts one that was read. The error is ErrTooManyLinks.
func (h *held) add(bytes int) error {
	if h.bytes.Add(int64(bytes)) <= maxHeld {
		return h.in.Add(int64(bytes))
	}
	return fmt.Errorf("%w: their headers have more than %d MiB, and the operator holds no more in memory: take snapshots more often, or choose a target soon after a snapshot",
		ErrTooManyLinks, maxHeld>>20)
}

func (h *held) full() error { return h.add(0) }

// ErrTooManyLinks means that too many segments are between a target and the base snapshot before it.
var ErrTooManyLinks = errors.New("too many segments")

// Progress is a point up to which an archiver has stored all changes. While a cluster is idle, it is later than the last link.
type Progress struct {
	Timeline Timeline
	Point    Point
}

// hidden reports whether others had the revision of the target after the timeline began. Only then it reads the starts of older timelines, because
// a cluster that is older than the timeline hides nothing in it.
func (f *finder) hidden(ctx context.Context, older []Names, e evidence, of func(clusterID string) bool) (bool, error) {
	by := func(e evidence) bool { return hidden(f.start.hiddenBy(e.only(of)), f.target.Revision) }
	if f.target.Revision == 0 || !by(e) {
		return false, nil
	}
	starts, err := f.older(ctx, older)
	return by(e.with(append(starts, e.starts...))), err
}

// older returns the starts of the timelines before this one. One that is missing, damaged or in a class that cannot be read shows nothing.
func (f *finder) older(ctx context.Context, all []Names) (older []Start, err error) {
	for _, names := range all {
		start, err := ReadStart(ctx, f.store, f.root, names.Timeline)
		switch err = cmp.Or(err, f.held.add(start.size)); {
		case err == nil:
			older = append(older, start)
		case !errors.Is(err, ErrCorrupt) && !objstore.Refused(err):
			return nil, err
		}
	}
	return older, nil
}

// finder reads a part of one timeline.
type finder struct {
	store objstore.Store
	root  string
	start Start
	// unread is why the start cannot be read; nil if it can, or if there is none.
	unread error
	// undated and since are those of the walk.
	undated bool
	since   time.Time
	// skipped is why a link that may have the target cannot be read; nil if there is none. unended is why it is not known whether a further link
	// follows the last one that is listed.
	skipped, unended error
	next             *Start // of the next timeline with this cluster ID; nil if there is none
	keys             []Name
	headers          map[string]Header // that were read
	held             *held
	bases            []Base // oldest first
	target           Target
	// evidence is of all snapshots.
	evidence evidence
	// progress is that of this timeline; nil if it is not known.
	progress *Point
}

// find returns the part of the timeline from the base to the target. found is false if no base reaches the target. Then the
// part ends at the next base. With an error of a link, it returns the base from which the part begins.
func (f *finder) find(ctx context.Context) (h History, from Base, found bool, err error) {
	next := sort.Search(len(f.bases), func(i int) bool { return !reaches(f, f.bases[i]) })
	for _, b := range slices.Backward(f.bases[:next]) {
		from := f.holding(b.Point.Revision)
		to, err := f.end(ctx, from)
		if err != nil {
			return h, b, false, err
		}
		if h, err = f.part(ctx, from, to); err != nil {
			return h, b, false, err
		}
		if _, ok := h.choose([]Base{b}, f.target); ok {
			return h, b, true, nil
		}
		if _, known := h.span(b); known {
			break // a gap or a change of users is in between, so an older base does not reach the target either
		}
	}
	if next == len(f.bases) {
		return h, Base{}, false, nil
	}
	to := f.holding(f.bases[next].Point.Revision)
	first := to
	if next > 0 {
		first = f.holding(f.bases[next-1].Point.Revision)
	}
	h, err = f.part(ctx, first, to)
	return h, Base{}, false, err
}

// reaches reports whether a base is not after the target.
func reaches(f *finder, b Base) bool {
	return !above(b.Point, f.target)
}

// holding returns the index of the last link that does not begin after a revision. It is 0 if there is none.
func (f *finder) holding(revision int64) int {
	after := sort.Search(len(f.keys), func(i int) bool { return f.keys[i].first > revision })
	return max(after-1, 0)
}

// end returns the index of the link with the target. A time is in the first link that ends after it.
func (f *finder) end(ctx context.Context, from int) (int, error) {
	if f.target.Revision > 0 {
		to := f.holding(f.target.Revision)
		if to == from { // the next link may show that the base is of another history
			to = f.holding(f.target.Revision + 1)
		}
		return to, nil
	}
	var failed error
	found := sort.Search(len(f.keys)-from, func(i int) bool {
		if failed != nil {
			return true
		}
		h, err := f.header(ctx, f.keys[from+i])
		failed = err
		return err != nil || h.To().At.After(f.target.Time)
	})
	return min(from+found, len(f.keys)-1), failed
}

func (f *finder) header(ctx context.Context, link Name) (Header, error) {
	key := link.Key(f.root)
	if h, ok := f.headers[key]; ok {
		return h, nil
	}
	h, err := ReadHeader(ctx, f.store, f.root, key)
	if err != nil {
		return h, &linkError{key, err}
	}
	if err = f.held.add(h.size); err == nil {
		f.headers[key] = h
	}
	return h, err
}

// part returns the timeline with only the links from one index to another one, including both.
func (f *finder) part(ctx context.Context, from, to int) (History, error) {
	h := History{Start: f.start, next: f.next, own: f.bases}
	to = max(from, to)
	if to >= len(f.keys)-1 {
		h.Progress = f.progress
	}
	if len(f.keys) == 0 {
		return h, nil
	}
	if between := to + 1 - from; between > MaxLinks {
		return h, fmt.Errorf("%w: %d are between %s and the base snapshot before it, and at most %d can be replayed: take snapshots more often, or choose a target soon after a snapshot",
			ErrTooManyLinks, between, f.target, MaxLinks)
	}
	keys := keysIn(f.root, f.keys[from:to+1])
	if err := f.readAll(ctx, keys); err != nil {
		return h, err
	}
	for _, key := range keys {
		h.Links = append(h.Links, Link{Key: key, Header: f.headers[key]})
	}
	return h, nil
}

// readAll reads the headers that were not read yet. The first link with an error is returned.
func (f *finder) readAll(ctx context.Context, keys []string) error {
	var missing []string
	for _, key := range keys {
		if _, ok := f.headers[key]; !ok {
			missing = append(missing, key)
		}
	}
	headers, errs := make([]Header, len(missing)), make([]error, len(missing))
	var group sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i, key := range missing {
		slots <- struct{}{}
		group.Go(panics.Caught(func() {
			defer func() { <-slots }()
			if errs[i] = cmp.Or(ctx.Err(), f.held.full()); errs[i] == nil {
				if headers[i], errs[i] = ReadHeader(ctx, f.store, f.root, key); errs[i] != nil {
					errs[i] = &linkError{key, errs[i]}
				} else {
					errs[i] = f.held.add(headers[i].size)
				}
			}
		}, func(err error) { errs[i] = err }))
	}
	group.Wait()
	for i, key := range missing {
		if errs[i] != nil {
			return errs[i]
		}
		f.headers[key] = headers[i]
	}
	return nil
}
