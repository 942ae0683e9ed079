package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

const root = "continuous-archive/ns/name/"

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// objects is a store in memory for reading.
type objects map[string][]byte

func (o objects) Get(_ context.Context, key string) (io.ReadCloser, error) {
	content, ok := o[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func put(revision int64, key, value string) *mvccpb.Event {
	return &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte(key), Value: []byte(value), ModRevision: revision, CreateRevision: revision, Version: 1}}
}

func del(revision int64, key string) *mvccpb.Event {
	return &mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}}
}

// store writes a segment and returns its key and header.
func (o objects) store(t *testing.T, chain Chain, encoder codec.Encoder, events ...*mvccpb.Event) Link {
	t.Helper()
	var records, object bytes.Buffer
	w := NewWriter(&records, chain, auth.State{Revision: 1})
	for i, e := range events {
		if err := w.Add(e, noon.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := w.Seal([]Lease{{ID: 7, TTL: 30}, {ID: -1, TTL: 60}}, auth.State{Revision: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if h, err = WriteObject(&object, encoder, h, &records); err != nil {
		t.Fatal(err)
	}
	key := LinkKey(root, chain.Timeline, chain.At, h.First)
	o[key] = object.Bytes()
	return Link{key, h}
}

func begin(revision int64) Start {
	return NewStart(1, 0xabc, Base{Point: Point{Revision: revision, At: noon}, Auth: auth.State{Revision: 1}}, "test")
}

// read reads a whole segment.
func (o objects) read(key, identity string) ([]*mvccpb.Event, *Reader, error) {
	r, err := OpenSegment(context.Background(), o, root, key)
	if err != nil {
		return nil, nil, err
	}
	if err := r.Decode(context.Background(), []byte(identity)); err != nil {
		return nil, r, err
	}
	var events []*mvccpb.Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events, r, nil
		}
		if err != nil {
			return events, r, err
		}
		events = append(events, e)
	}
}

var someEvents = []*mvccpb.Event{
	put(10, "a", "1"), del(10, "b"), put(10, "a", "2"), // one key twice in one revision
	put(11, "c", strings.Repeat("long", 5000)), put(12, "", ""), del(13, "a"),
}

func TestSegmentsReturnEveryEventInEachEncoding(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	recipients := []string{identity.Recipient().String()}
	for _, encoder := range []codec.Encoder{{}, {Compression: codec.Zstd}, {Recipients: recipients}, {Compression: codec.Zstd, Recipients: recipients}} {
		t.Run(encoder.Compression+" "+encoder.Encoding().Encryption, func(t *testing.T) {
			o := objects{}
			link := o.store(t, begin(9).Chain(), encoder, someEvents...)
			events, r, err := o.read(link.Key, identity.String())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(events, someEvents, func(a, b *mvccpb.Event) bool { return proto.Equal(a, b) }) {
				t.Errorf("got the events %v", events)
			}
			if want := []Lease{{7, 30}, {-1, 60}}; !slices.Equal(r.Leases, want) {
				t.Errorf("got the leases %v, want %v", r.Leases, want)
			}
			if h := r.Header; h.First != 10 || h.Last != 13 || h.Events != 6 || h.Hash() != link.Header.Hash() {
				t.Errorf("got the header %+v", h)
			}
			if encoder.Encoding().Encryption == codec.Age {
				if _, _, err := o.read(link.Key, ""); !errors.Is(err, codec.ErrIdentity) {
					t.Errorf("got %v without an identity, want codec.ErrIdentity", err)
				}
			}
		})
	}
}

// TestEachDamageOfASegmentIsFound flips bits of each byte of a small segment, and truncates it at each byte. The frame header
// of zstd has bits that change nothing of what is decoded.
func TestEachDamageOfASegmentIsFound(t *testing.T) {
	for _, encoder := range []codec.Encoder{{}, {Compression: codec.Zstd}} {
		o := objects{}
		link := o.store(t, begin(9).Chain(), encoder, put(10, "a", "1"), del(10, "b"), put(11, "a", "2"))
		whole := o[link.Key]
		original, _, err := o.read(link.Key, "")
		if err != nil {
			t.Fatal(err)
		}
		found := func(what string, at int) {
			t.Helper()
			events, _, err := o.read(link.Key, "")
			same := slices.EqualFunc(events, original, func(a, b *mvccpb.Event) bool { return proto.Equal(a, b) })
			if err == nil && same && encoder.Compression != "" && what == "a flipped bit" {
				return
			}
			var revision *RevisionError
			switch {
			case err == nil:
				t.Errorf("%s at byte %d of %d is not found", what, at, len(whole))
			case !errors.As(err, &revision) || revision.Revision < 10 || revision.Revision > 12:
				t.Errorf("%s at byte %d: the error %v names no revision", what, at, err)
			case !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerFormat):
				t.Errorf("%s at byte %d: got %v, want ErrCorrupt", what, at, err)
			}
		}
		for at := range whole {
			for _, bit := range []int{at % 8, 7 - at%8} {
				o[link.Key] = bytes.Clone(whole)
				o[link.Key][at] ^= 1 << bit
				found("a flipped bit", at)
			}
			o[link.Key] = whole[:at]
			found("a truncation", at)
		}
		o[link.Key] = append(bytes.Clone(whole), 0)
		found("a further byte", len(whole))
	}
}

func TestWriterRefusesRevisionsThatAreSkippedOrRepeated(t *testing.T) {
	for name, events := range map[string][]*mvccpb.Event{
		"the first revision is missing": {put(11, "a", "")},
		"the first revision is too old": {put(9, "a", "")},
		"a revision is skipped":         {put(10, "a", ""), put(12, "a", "")},
		"a revision is repeated later":  {put(10, "a", ""), put(11, "a", ""), put(10, "a", "")},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWriter(io.Discard, begin(9).Chain(), auth.State{Revision: 1})
			var err error
			for _, e := range events {
				err = errors.Join(err, w.Add(e, noon))
			}
			if !errors.Is(err, ErrOrder) {
				t.Errorf("got %v, want ErrOrder", err)
			}
		})
	}
}

func TestPointsAreAtLeastOneASecondAndNeverGoBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	w := NewWriter(io.Discard, begin(9).Chain(), auth.State{Revision: 1})
	at, received := noon, map[int64]time.Time{}
	for revision := int64(10); revision < 2000; revision++ {
		if step := random.IntN(100); step == 0 {
			at = at.Add(-time.Minute) // the clock is set back
		} else {
			at = at.Add(time.Duration(random.IntN(300)) * time.Millisecond)
		}
		if err := w.Add(put(revision, "a", ""), at); err != nil {
			t.Fatal(err)
		}
		received[revision] = at
	}
	h, err := w.Seal(nil, auth.State{Revision: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.validate(); err != nil {
		t.Fatal(err)
	}
	for i, p := range h.Points {
		if p.At.Before(received[p.Revision]) {
			t.Errorf("point %s is before the revision was received, at %s", p, received[p.Revision])
		}
		if i > 0 && p.At.Sub(h.Points[i-1].At) > time.Second {
			t.Errorf("%s lie between two points", p.At.Sub(h.Points[i-1].At))
		}
	}
}

// The sum of two sizes was negative, so segments were written to the spool without a reservation.
func TestAHeaderWithASizeThatNoSegmentHasIsCorrupt(t *testing.T) {
	w := NewWriter(io.Discard, begin(9).Chain(), auth.State{Revision: 1})
	if err := w.Add(put(10, "a", ""), noon); err != nil {
		t.Fatal(err)
	}
	h, err := w.Seal(nil, auth.State{Revision: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for size, corrupt := range map[int64]bool{h.Size: false, mostBytes: false, mostBytes + 1: true, 1<<63 - 1<<30: true, -1: true} {
		h.Size = size
		if err := h.validate(); errors.Is(err, ErrCorrupt) != corrupt {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

func TestTwoArchiversThatExtendOneChainAtMidnightWriteTheSameKey(t *testing.T) {
	o := objects{}
	chain := begin(9).Chain()
	chain.At = time.Date(2026, 11, 22, 23, 59, 59, 0, time.UTC)
	first := o.store(t, chain, codec.Encoder{}, put(10, "a", "")) // both have events of the next day
	second := o.store(t, chain, codec.Encoder{}, put(10, "a", ""), put(11, "a", ""))
	if first.Key != second.Key || !strings.Contains(first.Key, "/20261122/") {
		t.Errorf("got the keys %s and %s", first.Key, second.Key)
	}
}

func TestOnlyKeysOfTheFormatAreParsed(t *testing.T) {
	for key, want := range map[string]bool{
		StartKey(root, 3):                     true,
		LinkKey(root, 3, noon, 42):            true,
		LinkKey(root, 3, noon, 42) + "x":      false,
		root + "3/start":                      false,
		root + "00000003/20261322/00.segment": false,
		root + "00000000/start":               false,
		"other/" + StartKey(root, 3):          false,
		strings.Replace(LinkKey(root, 3, noon, 42), "20261122", "2026-11-22", 1): false,
	} {
		if _, ok := ParseKey(root, key); ok != want {
			t.Errorf("%s: got %v, want %v", key, ok, want)
		}
	}
}

func TestFollowRefusesLinksOfAnotherChain(t *testing.T) {
	o := objects{}
	start := begin(9)
	one := o.store(t, start.Chain(), codec.Encoder{}, put(10, "a", ""))
	two := o.store(t, one.Header.Chain(), codec.Encoder{}, put(11, "a", ""))
	other := start
	other.Timeline = 2
	foreign := o.store(t, other.Chain(), codec.Encoder{}, put(10, "a", ""))
	forged := o.store(t, Chain{Timeline: 1, Last: 10, Hash: strings.Repeat("0", 64), At: noon}, codec.Encoder{}, put(11, "b", ""))
	for name, links := range map[string][]Link{
		"a segment of another timeline": {foreign},
		"a missing segment":             {two},
		"two swapped segments":          {two, one},
		"a segment that occurs twice":   {one, one},
		"a replaced segment":            {one, forged},
	} {
		t.Run(name, func(t *testing.T) {
			chain, err := start.Chain(), error(nil)
			for _, l := range links {
				if chain, err = chain.Follow(l.Key, l.Header); err != nil {
					break
				}
			}
			var at *RevisionError
			if !errors.As(err, &at) || at.Revision < 10 || at.Revision > 11 {
				t.Errorf("got %v, want an error with the revision", err)
			}
		})
	}
	if chain, err := start.Chain().Follow(one.Key, one.Header); err != nil {
		t.Error(err)
	} else if _, err := chain.Follow(two.Key, two.Header); err != nil {
		t.Error(err)
	}
}

func TestErrorsNameRevisionAndKey(t *testing.T) {
	err := corruptAt(7, "key", "why %d", 1)
	if got, want := err.Error(), "revision 7 in key: the archive is corrupt: why 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := fmt.Sprint(Point{Revision: 3}); got != "revision 3" {
		t.Errorf("got %q", got)
	}
}

// A header of any size in the bucket must not take the memory of the operator, which reads the headers of an archive.
func TestAHeaderOfTenTimesTheBoundIsNotRead(t *testing.T) {
	body := bufio.NewReader(io.LimitReader(spaces{}, 10*MaxHeader))
	heaptest.Bound(t, 8, func() {
		if _, _, err := decodeLine(body, "key", &Header{}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("error %v", err)
		}
	})
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// Leases in the records of a segment, and one record, can have gigabytes that take a few KiB in the store. A process that reads them must end at the size in the header.
func TestRecordsThatAreLargerThanTheirHeaderSaysAreNotRead(t *testing.T) {
	for name, records := range bombs() {
		o := objects{}
		w := NewWriter(io.Discard, begin(9).Chain(), auth.State{Revision: 1})
		if err := w.Add(put(10, "a", ""), noon); err != nil {
			t.Fatal(err)
		}
		h, err := w.Seal(nil, auth.State{Revision: 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var object bytes.Buffer
		if _, err = WriteObject(&object, codec.Encoder{Compression: codec.Zstd}, h, records); err != nil {
			t.Fatal(err)
		}
		key := LinkKey(root, 1, noon, 10)
		o[key] = object.Bytes()
		heaptest.Bound(t, 16, func() {
			if _, _, err := o.read(key, ""); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, %d KiB in the store: %v", name, object.Len()>>10, err)
			}
		})
	}
}

// bombs are records that compress to a few KiB.
func bombs() map[string]io.Reader {
	return map[string]io.Reader{
		"leases":     bytes.NewReader(bytes.Repeat(appendLease(nil, Lease{ID: 1, TTL: 1}), 8<<20)),
		"one record": io.MultiReader(bytes.NewReader(binary.AppendUvarint(nil, 256<<20)), bytes.NewReader(make([]byte, 256<<20))),
	}
}
