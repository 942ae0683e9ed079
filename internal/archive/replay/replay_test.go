package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

const root = "continuous-archive/ns/name/"

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// original is a store with a history: what a cluster had.
type original struct {
	t      *testing.T
	base   string // path of the snapshot at baseRevision
	events []*mvccpb.Event
	hashes map[int64]uint32
}

const baseRevision = 20

// newOriginal writes 100 revisions at random, of which the first 20 are in the base.
func newOriginal(t *testing.T) *original {
	t.Helper()
	o := &original{t: t, base: filepath.Join(t.TempDir(), "base.db"), hashes: map[int64]uint32{}}
	random := rand.New(rand.NewPCG(7, 7))
	db, err := openDatabase(create(t, o.base))
	if err != nil {
		t.Fatal(err)
	}
	whole := o.write(db, random, baseRevision)
	if err := db.close(); err != nil {
		t.Fatal(err)
	}
	if err := dbfile.AppendTrailer(o.base); err != nil {
		t.Fatal(err)
	}
	live := copyOf(t, o.base)
	if db, err = openDatabase(live); err != nil {
		t.Fatal(err)
	}
	o.events = o.write(db, random, 100)
	if err := db.close(); err != nil {
		t.Fatal(err)
	}
	if len(whole) == 0 || len(o.events) < 80 {
		t.Fatalf("%d and %d events", len(whole), len(o.events))
	}
	return o
}

func create(t *testing.T, path string) string {
	t.Helper()
	writeFile(t, path, nil)
	return path
}

// write writes random revisions up to one and returns their events, as a watch sends them.
func (o *original) write(db *database, random *rand.Rand, last int64) []*mvccpb.Event {
	var events []*mvccpb.Event
	for db.revision() < last {
		revision := db.revision() + 1
		txn := db.store.Write(traceutil.TODO())
		for range 1 + random.IntN(4) {
			key := fmt.Appendf(nil, "key-%d", random.IntN(8))
			if random.IntN(4) == 0 {
				txn.DeleteRange(key, nil)
			} else {
				txn.Put(key, fmt.Append(nil, random.Uint64()), lease.LeaseID(random.IntN(3)))
			}
		}
		for _, kv := range txn.Changes() {
			event := &mvccpb.Event{Kv: proto.CloneOf(kv)}
			if kv.ModRevision == 0 {
				event.Type, event.Kv.ModRevision = mvccpb.Event_DELETE, revision
			}
			events = append(events, event)
		}
		txn.End()
		if db.revision() == revision {
			o.hashes[revision] = hashAt(o.t, db, revision)
		}
	}
	return events
}

func hashAt(t *testing.T, db *database, revision int64) uint32 {
	t.Helper()
	hash, _, err := db.store.HashStorage().HashByRev(revision)
	if err != nil {
		t.Fatal(err)
	}
	return hash.Hash
}

// store is an archive in memory.
type store map[string][]byte

func (s store) Get(_ context.Context, key string) (io.ReadCloser, error) {
	content, ok := s[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// write writes segments of about 15 revisions. change may change the events of the n-th segment.
func (s store) write(t *testing.T, events []*mvccpb.Event, timeline archive.Timeline, users auth.State) (archive.Chain, []string) {
	t.Helper()
	start := archive.NewStart(timeline, 1, archive.Base{Point: archive.Point{Revision: baseRevision, At: noon}}, "test")
	chain, keys := start.Chain(), []string(nil)
	for len(events) > 0 {
		n := min(len(events), 30)
		for n < len(events) && events[n].Kv.ModRevision == events[n-1].Kv.ModRevision {
			n++
		}
		var records, object bytes.Buffer
		w := archive.NewWriter(&records, chain, users)
		for _, e := range events[:n] {
			if err := w.Add(e, noon); err != nil {
				t.Fatal(err)
			}
		}
		h, err := w.Seal([]archive.Lease{{ID: 1, TTL: 77}}, users, 0)
		if err == nil {
			h, err = archive.WriteObject(&object, codec.Encoder{Compression: codec.Zstd}, h, &records)
		}
		if err != nil {
			t.Fatal(err)
		}
		key := archive.LinkKey(root, timeline, chain.At, h.First)
		s[key], keys = object.Bytes(), append(keys, key)
		events, chain = events[n:], h.Chain()
	}
	return start.Chain(), keys
}

// replay replays segments into a copy of the base.
func (o *original) replay(s store, chain archive.Chain, keys []string, target int64, compact int64) (string, Result, error) {
	path := copyOf(o.t, o.base)
	result, err := Replay(o.t.Context(), Options{
		Path: path, Revision: target, Chain: chain, FallbackTTL: 5, CompactAfter: compact,
		Next: func(ctx context.Context) (*archive.Reader, error) {
			if len(keys) == 0 {
				return nil, io.EOF
			}
			key := keys[0]
			keys = keys[1:]
			return archive.OpenSegment(ctx, s, root, key)
		},
	})
	return path, result, err
}

func TestReplayReachesEachRevisionWithTheSameHash(t *testing.T) {
	o, s := newOriginal(t), store{}
	chain, keys := s.write(t, o.events, 1, auth.State{})
	for target := int64(baseRevision); target <= 100; target++ {
		path, result, err := o.replay(s, chain, keys, target, 0)
		if err != nil {
			t.Fatal(err)
		}
		if result.Base != baseRevision || result.Revision != target {
			t.Fatalf("got the result %+v for revision %d", result, target)
		}
		db, err := openDatabase(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := hashAt(t, db, target); got != o.hashes[target] {
			t.Errorf("revision %d has the hash %08x, want %08x", target, got, o.hashes[target])
		}
		if err := db.close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplayWritesLeasesWithTheirFullTTLAndReportsUnknownOnes(t *testing.T) {
	o, s := newOriginal(t), store{}
	chain, keys := s.write(t, o.events, 1, auth.State{})
	path, result, err := o.replay(s, chain, keys, 100, 0)
	if err != nil {
		t.Fatal(err)
	}
	if result.Leases != 1 || result.Fallback != 1 {
		t.Errorf("got %d known leases and %d unknown ones, want 1 of each", result.Leases, result.Fallback)
	}
	db, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	tx := db.backend.ReadTx()
	tx.RLock()
	got := map[int64]int64{}
	for _, l := range schema.MustUnsafeGetAllLeases(tx) {
		got[l.ID] = l.TTL
	}
	tx.RUnlock()
	if err := db.close(); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[1] != 77 || got[2] != 5 {
		t.Errorf("got the leases %v, want 1 with 77 s and 2 with 5 s", got)
	}
}

func TestReplayThatCompactsKeepsTheNewestValues(t *testing.T) {
	o, s := newOriginal(t), store{}
	chain, keys := s.write(t, o.events, 1, auth.State{})
	read := func(compact int64) (values []string, revisions int) {
		path, _, err := o.replay(s, chain, keys, 100, compact)
		if err != nil {
			t.Fatal(err)
		}
		db, err := openDatabase(path)
		if err != nil {
			t.Fatal(err)
		}
		tx := db.store.Read(mvcc.ConcurrentReadTxMode, traceutil.TODO())
		result, err := tx.Range(t.Context(), []byte{0}, []byte{}, mvcc.RangeOptions{})
		tx.End()
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range result.KVs {
			values = append(values, kv.String())
		}
		raw := db.backend.ReadTx()
		raw.RLock()
		_ = raw.UnsafeForEach(schema.Key, func(_, _ []byte) error { revisions++; return nil })
		raw.RUnlock()
		if err := db.close(); err != nil {
			t.Fatal(err)
		}
		return values, revisions
	}
	want, all := read(0)
	got, few := read(200)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if few >= all/2 {
		t.Errorf("%d of %d revisions are left", few, all)
	}
}

// TestReplayRefusesEachPlantedFault plants faults that an archiver with a defect, a store or a person could make.
func TestReplayRefusesEachPlantedFault(t *testing.T) {
	o := newOriginal(t)
	last := func(match func(i int, e *mvccpb.Event) bool) int { // the first event that matches
		return slices.IndexFunc(o.events, func(e *mvccpb.Event) bool {
			i := slices.Index(o.events, e)
			return e.Kv.ModRevision > 40 && match(i, e)
		})
	}
	// An event of a revision with others, whose key is written again later.
	several := last(func(i int, e *mvccpb.Event) bool {
		return e.Type == mvccpb.Event_PUT && o.events[i+1].Kv.ModRevision == e.Kv.ModRevision && i+1 < len(o.events)
	})
	deletion := last(func(_ int, e *mvccpb.Event) bool { return e.Type == mvccpb.Event_DELETE })
	// A put that creates a key, in a revision with others. The next event of the key deletes it.
	deletedNext := last(func(i int, e *mvccpb.Event) bool {
		next := slices.IndexFunc(o.events[i+1:], func(n *mvccpb.Event) bool { return bytes.Equal(n.Kv.Key, e.Kv.Key) })
		shared := o.events[i-1].Kv.ModRevision == e.Kv.ModRevision || o.events[i+1].Kv.ModRevision == e.Kv.ModRevision
		return e.Type == mvccpb.Event_PUT && e.Kv.Version == 1 && shared && next >= 0 && o.events[i+1+next].Type == mvccpb.Event_DELETE
	})
	if several < 0 || deletion < 0 || deletedNext < 0 {
		t.Fatalf("the history has no such events: %d, %d, %d", several, deletion, deletedNext)
	}
	for name, plant := range map[string]func(s store, keys []string) (*store, []string){
		"an event is lost": func(store, []string) (*store, []string) {
			return o.rewritten(slices.Delete(slices.Clone(o.events), several, several+1), auth.State{})
		},
		"a put of a key that is deleted next is lost": func(store, []string) (*store, []string) {
			return o.rewritten(slices.Delete(slices.Clone(o.events), deletedNext, deletedNext+1), auth.State{})
		},
		"a put occurs twice": func(store, []string) (*store, []string) {
			return o.rewritten(slices.Insert(slices.Clone(o.events), several, o.events[several]), auth.State{})
		},
		"a deletion occurs twice": func(store, []string) (*store, []string) {
			return o.rewritten(slices.Insert(slices.Clone(o.events), deletion, o.events[deletion]), auth.State{})
		},
		"users have changed":         func(store, []string) (*store, []string) { return o.rewritten(o.events, auth.State{Revision: 9}) },
		"authentication was enabled": func(store, []string) (*store, []string) { return o.rewritten(o.events, auth.State{Enabled: auth.On}) },
		"two segments are swapped":   func(s store, keys []string) (*store, []string) { return &s, []string{keys[1], keys[0], keys[2]} },
		"the contents of two segments are swapped": func(s store, keys []string) (*store, []string) {
			s[keys[0]], s[keys[1]] = s[keys[1]], s[keys[0]]
			return &s, keys
		},
		"a segment is missing": func(s store, keys []string) (*store, []string) { return &s, slices.Delete(slices.Clone(keys), 1, 2) },
		"a segment is listed twice": func(s store, keys []string) (*store, []string) {
			return &s, slices.Insert(slices.Clone(keys), 1, keys[0])
		},
		"the last segment is missing":         func(s store, keys []string) (*store, []string) { return &s, keys[:len(keys)-1] },
		"a segment is deleted from the store": func(s store, keys []string) (*store, []string) { delete(s, keys[1]); return &s, keys },
		"a segment is truncated": func(s store, keys []string) (*store, []string) {
			s[keys[1]] = s[keys[1]][:len(s[keys[1]])*3/4]
			return &s, keys
		},
		"a segment is empty":            func(s store, keys []string) (*store, []string) { s[keys[1]] = nil; return &s, keys },
		"a bit of a segment is flipped": func(s store, keys []string) (*store, []string) { s[keys[1]][len(s[keys[1]])*3/4] ^= 4; return &s, keys },
		"a bit of a header is flipped":  func(s store, keys []string) (*store, []string) { s[keys[1]][30] ^= 1; return &s, keys },
		"a segment has the content of another chain": func(s store, keys []string) (*store, []string) {
			other := store{}
			_, foreign := other.write(t, o.events, 2, auth.State{})
			s[keys[1]] = other[foreign[1]]
			return &s, keys
		},
		"a segment of another timeline is listed": func(s store, keys []string) (*store, []string) {
			_, foreign := s.write(t, o.events, 2, auth.State{})
			return &s, []string{keys[0], foreign[1], keys[2]}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := store{}
			chain, keys := s.write(t, o.events, 1, auth.State{})
			changed, order := plant(s, keys)
			_, _, err := o.replay(*changed, chain, order, 100, 0)
			var at *archive.RevisionError
			if !errors.As(err, &at) || at.Revision <= baseRevision || at.Revision > 100 || at.Key == "" && !strings.Contains(name, "missing") {
				t.Fatalf("got %v, want an error that names revision and object", err)
			}
			t.Log(err)
		})
	}
}

// rewritten is an archive whose archiver has seen other events.
func (o *original) rewritten(events []*mvccpb.Event, users auth.State) (*store, []string) {
	s := store{}
	_, keys := s.write(o.t, events, 1, users)
	return &s, keys
}

func TestReplayRefusesATargetBeforeTheBase(t *testing.T) {
	o, s := newOriginal(t), store{}
	chain, keys := s.write(t, o.events, 1, auth.State{})
	if _, _, err := o.replay(s, chain, keys, baseRevision-1, 0); err == nil {
		t.Error("got no error")
	}
}
