package follower

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	b.Follower = &Follower{Copying: Copying{From: b.from, To: b.to, FromRoot: first, ToRoot: second}}
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
	copied, err := b.Sync(b.Context(), Floor{})
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
