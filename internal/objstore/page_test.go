package objstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// listingOf returns the context of a listing of a namespace, and what ends it.
func listingOf(t *testing.T, namespace string, limits Limits) (context.Context, *progress) {
	t.Helper()
	ctx, names := Hold(t.Context(), namespace)
	p := newProgress(ctx, limits)
	t.Cleanup(func() { p.stop(); names.Release() })
	return p.ctx, p
}

// twoDecodings has the test decode as on a computer with two processors.
func twoDecodings(t *testing.T) {
	t.Helper()
	before := decoding
	t.Cleanup(func() { decoding = before })
	decoding = turns.NewGate(2)
}

func pageIn(ctx context.Context, later bool) io.ReadCloser {
	return WholePage(ctx, io.NopCloser(strings.NewReader("page")), later)
}

// A user had a hundred listings, whose pages took a second of a processor each. The processors of the operator had no time for those of other namespaces.
func TestOneNamespaceDecodesOnePageFewerThanAllTogether(t *testing.T) {
	twoDecodings(t)
	for name, test := range map[string]struct {
		later bool
		ends  func(ctx context.Context, page io.Closer, p *progress)
	}{
		"it was closed":              {false, func(_ context.Context, page io.Closer, _ *progress) { _ = page.Close() }},
		"the store has its names":    {true, func(ctx context.Context, _ io.Closer, _ *progress) { _ = HoldNames(ctx, nil, Object.Name, "") }},
		"the store returns an error": {true, func(_ context.Context, _ io.Closer, p *progress) { _ = p.name(errors.New("no page")) }},
		"the request is repeated":    {true, func(ctx context.Context, _ io.Closer, _ *progress) { _ = CountRequest(ctx) }},
		"the listing ends":           {true, func(_ context.Context, _ io.Closer, p *progress) { p.stop() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, p := listingOf(t, "hostile", DefaultLimits)
				page := pageIn(first, test.later)
				decoded := make(chan bool, 1)
				go func() {
					second, _ := listingOf(t, "hostile", DefaultLimits)
					_ = pageIn(second, false).Close()
					decoded <- true
				}()
				synctest.Wait()
				if len(decoded) > 0 {
					t.Error("one namespace decodes two of two pages at the same time")
				}
				good, _ := listingOf(t, "good", DefaultLimits)
				_ = pageIn(good, false).Close() // another namespace does not wait
				test.ends(first, page, p)
				<-decoded
			})
		})
	}
}

// The pages of others delayed a long listing, and it ended as if its own store had been slow.
func TestTheTimeInWhichAPageWaitsForItsTurnDoesNotCount(t *testing.T) {
	twoDecodings(t)
	synctest.Test(t, func(t *testing.T) {
		limits := Limits{Names: 10, Requests: 10, Silence: time.Second, Total: time.Second}
		first, _ := listingOf(t, "one", limits)
		page := pageIn(first, false)
		second, p := listingOf(t, "one", limits)
		go func() {
			<-time.After(time.Hour)
			_ = page.Close()
		}()
		_ = pageIn(second, false).Close()
		if err := p.name(nil); err != nil || second.Err() != nil {
			t.Errorf("the listing ended: %v, %v", err, context.Cause(second))
		}
	})
}

// pagedStore lists one page of names.
type pagedStore struct {
	Store
	names []Object
}

func (s pagedStore) List(ctx context.Context, _ string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if err := HoldNames(ctx, s.names, Object.Name, ""); err != nil {
			yield(Object{}, err)
			return
		}
		for _, name := range s.names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

// A listing may hold its page for minutes, because it waits for another server. All of them together filled the memory.
func TestTheNamesOfPagesCountToTheMemoryOfTheProcess(t *testing.T) {
	used, restore := ReplaceMemory(32 << 20)
	defer restore()
	store := Bounded(pagedStore{names: make([]Object, 50_000)}, DefaultLimits)
	next := func() (func() (Object, error, bool), func()) {
		ctx, names := Hold(Unheld(t.Context()), "hostile")
		t.Cleanup(names.Release)
		return iter.Pull2(store.List(ctx, ""))
	}
	first, end := next()
	if _, err, _ := first(); err != nil || used() < 50_000*NameBytes-usualPage {
		t.Errorf("%d KiB count, error %v", used()>>10, err)
	}
	second, endSecond := next()
	defer endSecond()
	if _, err, _ := second(); !errors.Is(err, ErrListing) && !errors.Is(err, ErrMemory) {
		t.Errorf("a second page fits: %v", err)
	}
	if end(); used() != 0 {
		t.Errorf("%d KiB are still counted after the listing", used()>>10)
	}
}

// Each page of a usual archive must fit, whatever other namespaces hold.
func TestAPageOfUsualNamesCountsNothing(t *testing.T) {
	used, restore := ReplaceMemory(1 << 20)
	defer restore()
	ctx, _ := listingOf(t, "good", DefaultLimits)
	names := make([]Object, PageSize)
	for i := range names {
		names[i].Key = strings.Repeat("n", 150)
	}
	body := WholePage(ctx, io.NopCloser(strings.NewReader(strings.Repeat("p", 400<<10))), false)
	if _, err := io.ReadAll(body); err != nil {
		t.Error(err)
	}
	if err := errors.Join(body.Close(), HoldNames(ctx, names, Object.Name, "")); err != nil || used() != 0 {
		t.Errorf("%d KiB count, error %v", used()>>10, err)
	}
}
