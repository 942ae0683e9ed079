package follower

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// The first location does not return one link. The changes after it are worth a copy: the next snapshot makes them restorable.
func TestALinkThatTheFirstLocationDoesNotReturnStopsNoOthers(t *testing.T) {
	for name, err := range map[string]error{"it is refused": fs.ErrPermission, "it is lost": fs.ErrNotExist} {
		b := newBench(t)
		b.begin(1, 10)
		keys := b.segments(6)
		b.from.refused[keys[2]] = err
		b.sync()
		if n, which := b.Lacking(); n != 1 || which.Key(first) != keys[2] {
			t.Errorf("%s: %d are lacking, such as %s", name, n, which.Key(first))
		}
		if n := len(b.to.written); n != 6 {
			t.Errorf("%s: %d objects are written, want 6", name, n)
		}
		b.ordered()
		b.segments(1)
		b.follow()
		delete(b.from.refused, keys[2])
		b.sync()
		if n, _ := b.Lacking(); n > 0 || len(b.to.written) != 8 {
			t.Errorf("%s: %d are lacking, %d written", name, n, len(b.to.written))
		}
	}
}

func TestAFirstLocationThatReturnsNothingIsAnError(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	for _, key := range b.segments(8) {
		b.from.refused[key] = fs.ErrPermission
	}
	if _, err := b.Sync(t.Context(), Floor{}); !errors.Is(err, ErrSource) {
		t.Errorf("got %v", err)
	}
}

// The records of a link are damaged, but its header is not.
func TestADamagedLinkIsNotCopied(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	keys := b.segments(3)
	_, all := content(t, b.from.Store, first)
	text := []byte(all[strings.TrimPrefix(keys[1], first)])
	text[len(text)-8] ^= 1
	if err := b.from.Delete(t.Context(), keys[1]); err != nil {
		t.Fatal(err)
	}
	if err := b.from.Put(t.Context(), keys[1], bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	b.sync()
	to, _ := content(t, b.to.Store, second)
	if n, _ := b.Lacking(); n != 1 || len(to) != 3 {
		t.Errorf("%d are lacking, and the second location has %q", n, to)
	}
}

func TestAnotherObjectInTheSecondLocationIsNeverReplaced(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	other := newBench(t)
	other.begin(1, 10)
	b.sync()
	other.chain.Hash = strings.Repeat("f", 64) // another history
	key := second + strings.TrimPrefix(other.segments(1)[0], first)
	_, all := content(t, other.from.Store, first)
	text := all[strings.TrimPrefix(key, second)]
	if err := b.to.Put(t.Context(), key, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	b.segments(2)
	if _, err := b.Follow(t.Context(), 1, b.chain.Last); !errors.Is(err, ErrOtherCopy) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Sync(t.Context(), Floor{}); !errors.Is(err, ErrOtherCopy) {
		t.Errorf("got %v", err)
	}
	if _, after := content(t, b.to.Store, second); after[strings.TrimPrefix(key, second)] != text {
		t.Error("it was replaced")
	}
}

// The first location was lost, and is empty. The second one has the only copy.
func TestNothingIsDeletedInTheSecondLocationIfTheFirstOneIsLost(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	keys := b.segments(4)
	b.sync()
	before, _ := content(t, b.to.Store, second)
	for _, key := range append(keys, archive.StartKey(first, 1)) {
		if err := b.from.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	b.sync()
	if after, _ := content(t, b.to.Store, second); !slices.Equal(before, after) {
		t.Errorf("%q are left of %q", after, before)
	}
}

// Otherwise what retention deletes in the second location would be copied again while the first one still has it.
func TestWhatIsOutdatedInTheSecondLocationIsNotCopied(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.segments(3)
	b.begin(2, 20) // links 21-22, 23-24, 25-26, 27-28, 29-30
	b.segments(5)
	if _, err := b.Sync(t.Context(), Floor{Timeline: 2, Revision: 25}); err != nil {
		t.Fatal(err)
	}
	to, _ := content(t, b.to.Store, second)
	if len(to) != 4 || !strings.Contains(to[0], "0000000025") {
		t.Errorf("the second location has %q, want the links from 25", to)
	}
}

func TestANewTimelineIsFoundByAComparison(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.segments(2)
	b.sync()
	b.segments(2)
	b.begin(2, 14)
	b.segments(1)
	if _, err := b.Follow(t.Context(), 2, b.chain.Last); !errors.Is(err, ErrAgain) {
		t.Fatalf("got %v", err)
	}
	b.sync()
	b.follow()
	b.same()
}

// trickling is a store that never ends a Put.
type trickling struct{ objstore.Store }

func (trickling) Put(ctx context.Context, _ string, _ io.Reader) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// A second location that accepts a byte from time to time would hold the memory that all copies share.
func TestACopyThatDoesNotMoveEndsAndReturnsItsMemory(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.sync()
	b.segments(1)
	held := int64(0)
	b.To, b.Patience = trickling{b.to}, 10*time.Millisecond
	b.Admit = func(_ context.Context, bytes int64, _ func()) (Held, error) {
		held += bytes
		return Held{Release: func() { held -= bytes }}, nil
	}
	if _, err := b.Follow(t.Context(), 1, b.chain.Last); !errors.Is(err, context.DeadlineExceeded) || held != 0 {
		t.Errorf("got %v, and %d bytes are held", err, held)
	}
	b.To = b.to
	b.follow()
	if held != 0 {
		t.Errorf("%d bytes are held", held)
	}
	b.same()
}

// endless is an object whose body returns its first bytes, and then nothing before its request ends.
type endless struct {
	io.Reader
	ctx context.Context
}

func (e *endless) Read(p []byte) (int, error) {
	if n, err := e.Reader.Read(p); n > 0 || !errors.Is(err, io.EOF) {
		return n, err
	}
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

func (e *endless) Close() error { return nil }

// trickled is a first location that begins to return a link, and returns too little after that.
type trickled struct{ objstore.Store }

func (s trickled) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	object, err := s.Store.Get(ctx, key)
	if err != nil || strings.HasSuffix(key, "start") {
		return object, err
	}
	defer object.Close()
	text, err := io.ReadAll(object)
	return &endless{bytes.NewReader(text[:len(text)-8]), ctx}, err
}

// A first location that returns a byte from time to time would hold the memory that all copies share, too.
func TestACopyWhoseSourceDoesNotMoveEndsAndReturnsItsMemory(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.sync()
	b.segments(1)
	held := int64(0)
	b.From, b.Patience = trickled{b.from}, 10*time.Millisecond
	b.Admit = func(_ context.Context, bytes int64, _ func()) (Held, error) {
		held += bytes
		return Held{Release: func() { held -= bytes }}, nil
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.Follow(t.Context(), 1, b.chain.Last)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrSource) || held != 0 {
			t.Errorf("got %v, and %d bytes are held", err, held)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the copy does not end")
	}
	b.From = b.from
	b.follow()
	b.same()
}
