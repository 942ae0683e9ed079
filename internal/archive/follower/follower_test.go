package follower

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

const first, second = "continuous-archive/a/ns/name/", "continuous-archive/b/ns/name/"

var noon = time.Date(2026, 11, 22, 23, 59, 50, 0, time.UTC) // so that the chains change the day

// location is a store that can be down, refuses some objects, and notes the order in which objects are written.
type location struct {
	objstore.Store
	down    bool
	refused map[string]error
	written []string
}

var errDown = errors.New("the location is down")

func (l *location) Put(ctx context.Context, key string, body io.Reader) error {
	if l.down {
		return errDown
	}
	err := l.Store.Put(ctx, key, body)
	if err == nil {
		l.written = append(l.written, key)
	}
	return err
}

func (l *location) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := l.refused[key]; err != nil {
		return nil, err
	}
	return l.Store.Get(ctx, key)
}

// bench is an archive in a first location, and its follower.
type bench struct {
	*testing.T
	from, to *location
	chain    archive.Chain
	*Follower
}

func newBench(t *testing.T) *bench {
	open := func() *location {
		store, err := file.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return &location{Store: store, refused: map[string]error{}}
	}
	b := &bench{T: t, from: open(), to: open()}
	b.restart()
	return b
}

func (b *bench) restart() {
	b.Follower = &Follower{Copying: archive.Copying{From: b.from, To: b.to, FromRoot: first, ToRoot: second}}
}

func (b *bench) begin(t archive.Timeline, revision int64) {
	b.Helper()
	start := archive.NewStart(t, 0xabc, archive.Base{Key: fmt.Sprint("base-", t), Point: archive.Point{Revision: revision, At: noon}}, "test")
	if err := b.from.Put(b.Context(), archive.StartKey(first, t), objstore.NewMetadata(start.Encode())); err != nil {
		b.Fatal(err)
	}
	b.chain = start.Chain()
}

// segments stores links of two revisions each, and returns their keys.
func (b *bench) segments(n int) (keys []string) {
	b.Helper()
	for range n {
		var records, object bytes.Buffer
		w := archive.NewWriter(&records, b.chain, auth.State{})
		for i := range 2 {
			revision := b.chain.Last + 1 + int64(i)
			event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: fmt.Append(nil, "key-", revision), Value: bytes.Repeat([]byte("v"), 1000), CreateRevision: revision, ModRevision: revision, Version: 1}}
			if err := w.Add(event, b.chain.At.Add(3*time.Second)); err != nil {
				b.Fatal(err)
			}
		}
		h, err := w.Seal(nil, auth.State{}, 0)
		if err == nil {
			h, err = archive.WriteObject(&object, codec.Encoder{Compression: codec.Zstd}, h, &records)
		}
		if err != nil {
			b.Fatal(err)
		}
		key := archive.LinkKey(first, b.chain.Timeline, b.chain.At, h.First)
		if err := b.from.Put(b.Context(), key, &object); err != nil {
			b.Fatal(err)
		}
		keys, b.chain = append(keys, key), h.Chain()
	}
	return keys
}

func content(t *testing.T, store objstore.Store, root string) (keys []string, all map[string]string) {
	t.Helper()
	all = map[string]string{}
	for o, err := range store.List(t.Context(), root) {
		if err != nil {
			t.Fatal(err)
		}
		body, err := store.Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		if err != nil || body.Close() != nil {
			t.Fatal(err)
		}
		key := strings.TrimPrefix(o.Key, root)
		keys, all[key] = append(keys, key), string(text)
	}
	return keys, all
}

// same compares both locations byte for byte, and the order in which the second one was written.
func (b *bench) same() {
	b.Helper()
	from, all := content(b.T, b.from.Store, first)
	to, copies := content(b.T, b.to.Store, second)
	if !slices.Equal(from, to) {
		b.Errorf("the first location has %d objects and the second one %d:\n%q\n%q", len(from), len(to), from, to)
	}
	for key, text := range copies {
		if all[key] != text {
			b.Errorf("%s has other bytes in the second location", key)
		}
	}
	b.ordered()
}

// ordered reports objects of the second location that were written before what they refer to.
func (b *bench) ordered() {
	b.Helper()
	last := map[string]string{} // by timeline
	for _, key := range b.to.written {
		timeline, name, _ := strings.Cut(strings.TrimPrefix(key, second), "/")
		before, begun := last[timeline]
		switch {
		case !begun && name != "start":
			b.Errorf("%s was written before the start of its timeline", key)
		case begun && before != "start" && name <= before:
			b.Errorf("%s was written after %s", key, before)
		}
		last[timeline] = name
	}
}

func (b *bench) sync() int {
	b.Helper()
	copied, err := b.Sync(b.Context(), archive.Floor{})
	if err != nil {
		b.Fatal(err)
	}
	return copied
}

func (b *bench) follow() {
	b.Helper()
	if _, err := b.Follow(b.Context(), b.chain.Timeline, b.chain.Last); err != nil {
		b.Fatal(err)
	}
}

func TestTheSecondLocationGetsEachObjectOnceInTheOrderOfTheChain(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.segments(5)
	b.begin(2, 7)
	b.segments(4)
	if copied := b.sync(); copied != 11 {
		t.Errorf("%d objects are copied, want 11", copied)
	}
	b.segments(6)
	b.follow()
	b.same()
	b.restart()
	if copied := b.sync(); copied != 0 {
		t.Errorf("a restart copies %d objects again", copied)
	}
	b.segments(1)
	b.follow()
	b.same()
	if n := len(b.to.written); n != 18 {
		t.Errorf("%d objects were written, want 18", n)
	}
}

// While the second location was down, the archive went on. Nothing may be left out, and nothing may come before what it follows.
func TestAnOutageOfTheSecondLocationIsCaughtUpInOrder(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.sync()
	for range 3 {
		b.segments(3)
		b.to.down = true
		if _, err := b.Follow(t.Context(), 1, b.chain.Last); !errors.Is(err, errDown) || errors.Is(err, archive.ErrCopySource) {
			t.Fatalf("got %v", err)
		}
		b.segments(3)
		b.to.down = false
		b.follow()
		b.same()
	}
}

// The follower is killed after each number of writes.
func TestAFollowerThatIsKilledAnywhereIsContinued(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.segments(4)
	b.begin(2, 12)
	b.segments(4)
	for len(b.to.written) < 10 {
		b.restart()
		before := len(b.to.written)
		ctx, cancel := context.WithCancel(t.Context())
		b.Copied = func(int64) { cancel() }
		_, err := b.Sync(ctx, archive.Floor{})
		if len(b.to.written) == before {
			t.Fatalf("nothing was copied: %v", err)
		}
		b.ordered()
	}
	b.restart()
	b.sync()
	b.same()
}

// A person has deleted a link in the second location.
func TestAHoleInTheSecondLocationIsFilled(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	keys := b.segments(6)
	b.sync()
	if err := b.to.Delete(t.Context(), second+strings.TrimPrefix(keys[2], first)); err != nil {
		t.Fatal(err)
	}
	b.to.written = nil
	if copied := b.sync(); copied != 2 { // with the start, which was there
		t.Errorf("%d copies", copied)
	}
	if want := []string{second + strings.TrimPrefix(keys[2], first)}; !slices.Equal(b.to.written, want) {
		t.Errorf("written %q, want %q", b.to.written, want)
	}
}

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
	if _, err := b.Sync(t.Context(), archive.Floor{}); !errors.Is(err, archive.ErrCopySource) {
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
	if _, err := b.Follow(t.Context(), 1, b.chain.Last); !errors.Is(err, archive.ErrOtherCopy) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Sync(t.Context(), archive.Floor{}); !errors.Is(err, archive.ErrOtherCopy) {
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
	if _, err := b.Sync(t.Context(), archive.Floor{Timeline: 2, Revision: 25}); err != nil {
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
