package objstoretest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func roundTrip(ctx context.Context, t *testing.T, store objstore.Store) {
	mustPut(ctx, t, store, "folder/key", "bytes")
	if got := mustGet(ctx, t, store, "folder/key"); got != "bytes" {
		t.Errorf("got %q, want %q", got, "bytes")
	}
	for object, err := range store.List(ctx, "folder/") {
		if err != nil {
			t.Fatal(err)
		}
		if object.Key != "folder/key" || object.Size != 5 || object.ModTime.IsZero() {
			t.Errorf("listed as %+v, want key folder/key, size 5 and a time", object)
		}
	}
}

func emptyObject(ctx context.Context, t *testing.T, store objstore.Store) {
	mustPut(ctx, t, store, "empty", "")
	if got := mustGet(ctx, t, store, "empty"); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

func largeObject(body kind) func(context.Context, *testing.T, objstore.Store) {
	return func(ctx context.Context, t *testing.T, store objstore.Store) {
		if err := store.Put(ctx, "large", body(t, pattern(1, Large), Large)); err != nil {
			t.Fatal(err)
		}
		wantPattern(ctx, t, store, "large", 1, Large)
	}
}

func oddKeys(ctx context.Context, t *testing.T, store objstore.Store) {
	odd := []string{
		"a b", "a+b", "a%20b", "a%2Fb", "a%", "ä/ö", "日本/語", "e\u0301", "\u00e9", "q?x=1&y=2", "h#x", "a:b", "a'\"b",
		"(a)[b]{c}", "a~b!c@d$e^f*g=h,i;j|k<l>m", "dots../.x/..y", "UPPER", "upper",
		strings.Repeat("long/"+strings.Repeat("x", 95)+"/", 9) + "end",
	}
	for _, key := range odd {
		mustPut(ctx, t, store, key, "body of "+key)
	}
	for _, key := range odd {
		if got, want := mustGet(ctx, t, store, key), "body of "+key; got != want {
			t.Errorf("%q holds %q, want %q", key, got, want)
		}
	}
	slices.Sort(odd)
	found, err := keys(ctx, store, "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, odd) {
		t.Errorf("listed\n%q, want\n%q", found, odd)
	}
}

func getAbsent(ctx context.Context, t *testing.T, store objstore.Store) {
	mustPut(ctx, t, store, "key-and-more", "x")
	body, err := store.Get(ctx, "key")
	if err == nil {
		_ = body.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, objstore.ErrNoBucket) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
	wantMention(t, err, "key")
}

func putExisting(ctx context.Context, t *testing.T, store objstore.Store) {
	mustPut(ctx, t, store, "key", "old")
	err := store.Put(ctx, "key", strings.NewReader("new"))
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want fs.ErrExist", err)
	}
	wantMention(t, err, "key")
	if got := mustGet(ctx, t, store, "key"); got != "old" {
		t.Errorf("holds %q, want the old bytes", got)
	}
}

func putExistingLarge(body kind) func(context.Context, *testing.T, objstore.Store) {
	return func(ctx context.Context, t *testing.T, store objstore.Store) {
		mustPut(ctx, t, store, "key", "old")
		if err := store.Put(ctx, "key", body(t, pattern(1, Large), Large)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("error %v, want fs.ErrExist", err)
		}
		if got := mustGet(ctx, t, store, "key"); got != "old" {
			t.Errorf("holds %d bytes, want the old 3", len(got))
		}
	}
}

func racingPuts(body kind) func(context.Context, *testing.T, objstore.Store) {
	return func(ctx context.Context, t *testing.T, store objstore.Store) {
		for _, size := range []int64{100, Large} {
			const writers = 4
			key := fmt.Sprintf("raced-%d", size)
			errs := make([]error, writers)
			var group sync.WaitGroup
			for i := range writers {
				group.Go(func() { errs[i] = store.Put(ctx, key, body(t, pattern(byte(i), size), size)) })
			}
			group.Wait()
			winner := -1
			for i, err := range errs {
				switch {
				case err == nil && winner >= 0:
					t.Errorf("writers %d and %d of %d bytes both won", winner, i, size)
				case err == nil:
					winner = i
				case !errors.Is(err, fs.ErrExist):
					t.Errorf("writer %d of %d bytes: error %v, want fs.ErrExist", i, size, err)
				}
			}
			if winner < 0 {
				t.Fatalf("no writer of %d bytes won", size)
			}
			wantPattern(ctx, t, store, key, byte(winner), size)
		}
	}
}

// failingBody puts a body that fails after good bytes and has announced more of them.
func failingBody(body kind, good, more int64) func(context.Context, *testing.T, objstore.Store) {
	return func(ctx context.Context, t *testing.T, store objstore.Store) {
		err := store.Put(ctx, "key", body(t, &failing{good: pattern(1, good), err: errBody}, good+more))
		if !errors.Is(err, errBody) {
			t.Errorf("error %v, want the body's", err)
		}
		wantAbsent(t, store, "key")
		mustPut(ctx, t, store, "key", "second try")
	}
}

func wrongSize(announced int64) func(context.Context, *testing.T, objstore.Store) {
	return func(ctx context.Context, t *testing.T, store objstore.Store) {
		if err := store.Put(ctx, "key", kept(t, pattern(1, Large), announced)); err != nil {
			t.Fatal(err)
		}
		wantPattern(ctx, t, store, "key", 1, Large)
	}
}

func cancelledPut(body kind) func(context.Context, *testing.T, objstore.Store) {
	return func(ctx context.Context, t *testing.T, store objstore.Store) {
		for _, first := range []int64{1000, Large} {
			ctx, cancel := context.WithCancel(ctx)
			gated := newGated(pattern(1, first), pattern(2, Large))
			done := make(chan error, 1)
			go func() { done <- store.Put(ctx, "key", body(t, gated, first+Large)) }()
			gated.wait(t, done)
			cancel()
			close(gated.gate)
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("after %d bytes: error %v, want context.Canceled", first, err)
			}
			wantAbsent(t, store, "key")
		}
	}
}

func endedContext(ctx context.Context, t *testing.T, store objstore.Store) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if err := store.Put(ctx, "key", strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	wantAbsent(t, store, "key")
}

func halfWritten(body kind) func(context.Context, *testing.T, objstore.Store) {
	return func(ctx context.Context, t *testing.T, store objstore.Store) {
		gated := newGated(pattern(1, Large), strings.NewReader("end"))
		done := make(chan error, 1)
		go func() { done <- store.Put(ctx, "folder/key", body(t, gated, Large+3)) }()
		gated.wait(t, done)
		wantAbsent(t, store, "folder/key")
		close(gated.gate)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := mustGet(ctx, t, store, "folder/key"); len(got) != Large+3 {
			t.Errorf("holds %d bytes, want %d", len(got), Large+3)
		}
	}
}

// overtaken puts a large body slowly. Another writer puts the key meanwhile.
func overtaken(body kind) func(context.Context, *testing.T, objstore.Store) {
	return func(ctx context.Context, t *testing.T, store objstore.Store) {
		gated := newGated(pattern(1, Large), strings.NewReader("end"))
		done := make(chan error, 1)
		go func() { done <- store.Put(ctx, "folder/key", body(t, gated, Large+3)) }()
		gated.wait(t, done)
		mustPut(ctx, t, store, "folder/key", "faster")
		close(gated.gate)
		if err := <-done; !errors.Is(err, fs.ErrExist) {
			t.Errorf("the slower writer got the error %v, want fs.ErrExist", err)
		}
		if got := mustGet(ctx, t, store, "folder/key"); got != "faster" {
			t.Errorf("holds %d bytes of the slower writer, want those of the faster one", len(got))
		}
	}
}

func wantPattern(ctx context.Context, t *testing.T, store objstore.Store, key string, seed byte, size int64) {
	t.Helper()
	body, err := store.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	got, want := sha256.New(), sha256.New()
	n, err := io.Copy(got, body)
	if err != nil {
		t.Fatalf("read %q: %v", key, err)
	}
	if _, err := io.Copy(want, pattern(seed, size)); err != nil {
		t.Fatal(err)
	}
	if n != size || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Errorf("%q holds %d bytes that differ, want the %d that were put", key, n, size)
	}
}
