package archive

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// storing returns a store with the timelines.
func storing(histories ...History) *objstoretest.Memory {
	m := objstoretest.NewMemory()
	for _, h := range histories {
		m.Place(StartKey(root, h.Start.Timeline), h.Start.Encode())
		for _, link := range h.Links {
			m.Place(link.Key, link.Header.Encode())
		}
	}
	return m
}

// with returns a store in which these objects have a fault, too.
func with(store objstore.Store, fault objstoretest.Fault, keys ...string) objstore.Store {
	faulty := objstoretest.NewFaulty(store)
	for _, key := range keys {
		faulty.Set(key, fault)
	}
	return faulty
}

// randomTimelines returns one to three timelines with gaps, changes of users and missing segments, and their bases.
func randomTimelines(random *rand.Rand) (histories []History, bases []Base) {
	revision, auth := int64(10), uint64(1)
	for t := range 1 + random.IntN(3) {
		first := base(revision, int(revision))
		first.Auth.Revision = auth
		bases = append(bases, first)
		h := newHistory(Timeline(t+1), first)
		for range 3 + random.IntN(12) {
			last := h.chain.Last + 1 + random.Int64N(6)
			switch random.IntN(8) {
			case 0:
				b := base(last, int(last))
				b.Auth.Revision = auth
				bases = append(bases, b)
				h.gap(b)
			case 1:
				h.segment(last, auth, auth+1)
				auth++
			default:
				h.segment(last, auth, auth)
			}
			if random.IntN(3) == 0 {
				b := base(h.chain.Last-random.Int64N(2), 0)
				b.Point.At, b.Auth.Revision = at(int(b.Point.Revision)), auth
				bases = append(bases, b)
			}
		}
		revision = h.chain.Last + random.Int64N(4)
		switch n := len(h.Links); random.IntN(4) {
		case 0: // one is missing
			i := random.IntN(n)
			h.Links = slices.Delete(h.Links, i, i+1)
		case 1: // the oldest ones were deleted
			h.Links = h.Links[random.IntN(n):]
		}
		histories = append(histories, h.History)
	}
	return histories, bases
}

func TestFindChoosesWhatASelectionWithAllHeadersChooses(t *testing.T) {
	chosen, refused, alone := 0, 0, 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 16))
		histories, bases := randomTimelines(random)
		store := storing(histories...)
		end := int(histories[len(histories)-1].Start.Base.Revision) + 60
		for n := 1; n < end; n++ {
			for _, target := range []Target{{Revision: int64(n)}, {Time: at(n)}, {Time: at(n).Add(300 * time.Millisecond)}} {
				want, wantErr := Select(histories, bases, target)
				got, err := Find(t.Context(), store, root, bases, Progress{}, target)
				if err == nil && slices.ContainsFunc(histories, hole) {
					followed(t, got, target)
					alone++
					continue
				}
				if (err == nil) != (wantErr == nil) || err != nil && !IsRefusal(err) {
					t.Fatalf("seed %d, %s: got the error %v, want %v", seed, target, err, wantErr)
				}
				if err != nil {
					refused++
					continue
				}
				chosen++
				want.Chain.At, got.Chain.At = time.Time{}, time.Time{} // not known if the search begins at a later link
				if diff := cmp.Diff(keysOf(want), keysOf(got)); diff != "" || want.Chain.Hash != got.Chain.Hash || want.Base != got.Base ||
					want.Reached != got.Reached || want.Resolution != got.Resolution || want.Timeline != got.Timeline {
					t.Fatalf("seed %d, %s: got %+v, want %+v", seed, target, got, want)
				}
			}
		}
	}
	if chosen < 100 || refused < 100 || alone < 100 {
		t.Errorf("%d and %d targets were chosen and %d refused: the test has too few of one kind", chosen, alone, refused)
	}
}

// hole reports whether segments are missing between two others. Select needs all links of a timeline. Find only needs those
// from a base on, so it also reaches targets after a missing segment.
func hole(h History) bool {
	for i, l := range h.Links[min(1, len(h.Links)):] {
		if l.Header.First != h.Links[i].Header.Last+1 {
			return true
		}
	}
	return false
}

// followed checks that the links are a chain from the base to the target, and that nothing is lost in it.
func followed(t *testing.T, c Choice, target Target) {
	t.Helper()
	chain, at := c.Chain, c.Base.Point.Revision
	for _, l := range c.Links {
		next, err := chain.Follow(l.Key, l.Header)
		if err != nil || l.Header.Gap() || l.Header.AuthFrom != c.Base.Auth.Revision || l.Header.AuthTo != c.Base.Auth.Revision {
			t.Fatalf("%s: %s does not follow: %v", target, l.Key, err)
		}
		chain, at = next, l.Header.Last
	}
	exact := target.Revision == 0 && !c.Reached.At.After(target.Time) || target.Revision == c.Reached.Revision
	if at < c.Reached.Revision || !exact || len(c.Links) > 0 && c.Chain.Last > c.Base.Point.Revision {
		t.Fatalf("%s: the links end with revision %d: %+v", target, at, c)
	}
}

func keysOf(c Choice) []string {
	keys := []string{}
	for _, l := range c.Links {
		keys = append(keys, l.Key)
	}
	return keys
}

func TestFindReadsOnlyHeadersBetweenTheBaseAndTheTarget(t *testing.T) {
	h := newHistory(1, base(10, 10))
	for range 2000 {
		h.segment(h.chain.Last + 2)
	}
	bases := []Base{base(10, 10), base(1000, 1000), base(2000, 2000), base(3000, 3000)}
	for name, test := range map[string]struct {
		target Target
		most   int64
	}{
		"a revision": {Target{Revision: 2020}, 1 + 12},
		"a time":     {Target{Time: at(2020)}, 1 + 12 + 11},
	} {
		t.Run(name, func(t *testing.T) {
			store := storing(h.History)
			c, err := Find(t.Context(), store, root, bases, Progress{}, test.target)
			if err != nil || c.Reached.Revision != 2020 || c.Base.Point.Revision != 2000 {
				t.Fatalf("got %+v, %v", c, err)
			}
			if got := store.Reads(); int64(got) > test.most {
				t.Errorf("%d objects were read, want at most %d", got, test.most)
			}
		})
	}
}

func TestFindNamesTheNearestPointsAndTheDamage(t *testing.T) {
	gap := newHistory(1, base(10, 10)).segment(20).gap(base(30, 30)).segment(40)
	var refusal *Refusal
	_, err := Find(t.Context(), storing(gap.History), root, []Base{base(10, 10), base(30, 30)}, Progress{}, Target{Revision: 25})
	if !errors.As(err, &refusal) || refusal.Before == nil || refusal.Before.Revision != 20 || refusal.After == nil || refusal.After.Revision != 30 {
		t.Errorf("in a gap: %v", err)
	}
	users := newHistory(1, base(10, 10)).segment(20).segment(30, 1, 2).segment(40, 2, 2)
	second := base(33, 33)
	second.Auth.Revision = 2
	_, err = Find(t.Context(), storing(users.History), root, []Base{base(10, 10), second}, Progress{}, Target{Revision: 32})
	if !errors.As(err, &refusal) || refusal.Before == nil || refusal.Before.Revision != 20 || refusal.After == nil || refusal.After.Revision != 33 {
		t.Errorf("after a change of users: %v", err)
	}
	_, err = Find(t.Context(), storing(), root, nil, Progress{}, Target{Revision: 5})
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "the archive is empty") {
		t.Errorf("without an archive: %v", err)
	}
	damaged := storing(gap.History)
	header := gap.Links[0].Header.Encode()
	header[30] ^= 1
	damaged.Place(gap.Links[0].Key, header)
	var where *RevisionError
	_, err = Find(t.Context(), damaged, root, []Base{base(10, 10)}, Progress{}, Target{Revision: 15})
	if !errors.Is(err, ErrCorrupt) || !errors.As(err, &where) || where.Revision != 11 {
		t.Errorf("with a damaged header: %v", err)
	}
}

func TestFindRefusesMoreLinksThanItsLimit(t *testing.T) {
	h := newHistory(1, base(10, 10))
	for range MaxLinks + 1 {
		h.segment(h.chain.Last + 1)
	}
	store := storing(h.History)
	_, err := Find(t.Context(), store, root, []Base{base(10, 10)}, Progress{}, Target{Revision: h.chain.Last})
	if !errors.Is(err, ErrTooManyLinks) || store.Reads() > 3 { // the start, the next one, and the last link
		t.Errorf("got %v after %d reads", err, store.Reads())
	}
}

func TestSegmentsAreThoseThatWereChosen(t *testing.T) {
	store, start := objects{}, begin(9)
	first := store.store(t, start.Chain(), codec.Encoder{}, put(10, "a", "1"), put(11, "b", "2"))
	second := store.store(t, first.Header.Chain(), codec.Encoder{}, put(12, "c", "3"))
	choice := Choice{Links: []Link{first, second}}
	next := choice.Segments(store, root)
	for _, want := range choice.Links {
		r, err := next(t.Context())
		if err != nil || r.Key != want.Key || r.Close() != nil {
			t.Fatalf("got %+v, %v, want %s", r, err, want.Key)
		}
	}
	if _, err := next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the last one: %v", err)
	}
	replaced := store.store(t, first.Header.Chain(), codec.Encoder{}, put(12, "c", "another value"))
	if replaced.Key != second.Key {
		t.Fatalf("the key is %s, want %s", replaced.Key, second.Key)
	}
	next = choice.Segments(store, root)
	r, err := next(t.Context())
	if err != nil || r.Close() != nil {
		t.Fatal(err)
	}
	var where *RevisionError
	if _, err := next(t.Context()); !errors.Is(err, ErrCorrupt) || !errors.As(err, &where) || where.Revision != 12 {
		t.Errorf("a replaced segment: %v", err)
	}
}

// While a cluster is idle, no link is written. The archiver reports up to when etcd had no more events.
func TestFindReachesATimeAtWhichTheClusterWasIdle(t *testing.T) {
	b := base(10, 10)
	h := newHistory(1, b)
	h.segment(20)
	end := h.chain.At
	store, late := storing(h.History), Target{Time: end.Add(time.Hour)}
	if _, err := Find(t.Context(), store, root, []Base{b}, Progress{}, late); !IsRefusal(err) {
		t.Errorf("without progress: error %v, want a refusal", err)
	}
	if _, err := Find(t.Context(), store, root, []Base{b}, Progress{2, Point{20, end.Add(2 * time.Hour)}}, late); !IsRefusal(err) {
		t.Errorf("with the progress of another timeline: error %v, want a refusal", err)
	}
	choice, err := Find(t.Context(), store, root, []Base{b}, Progress{1, Point{20, end.Add(2 * time.Hour)}}, late)
	if err != nil || choice.Reached.Revision != 20 || len(choice.Links) != 1 {
		t.Errorf("with progress: %+v, error %v, want revision 20", choice, err)
	}
}
