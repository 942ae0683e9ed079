package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		if err := Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ordered is a replay of all segments, which ends with revision 97.
type ordered struct {
	*original
	store store
	order Order
}

const orderedRevision = 97

func newOrdered(t *testing.T) *ordered {
	o := &ordered{original: newOriginal(t), store: store{}}
	chain, keys := o.store.write(t, o.events, 1, auth.State{})
	o.order = Order{
		Options: Options{Path: copyOf(t, o.base), Revision: orderedRevision, Chain: chain, FallbackTTL: 5}, Store: o.store, Root: root,
	}
	for _, key := range keys {
		h, err := archive.ReadHeader(t.Context(), o.store, root, key)
		if err != nil {
			t.Fatal(err)
		}
		if h.First <= orderedRevision {
			o.order.Links = append(o.order.Links, archive.Link{Key: key, Header: h})
		}
	}
	return o
}

func TestTheChildReplaysWhatItsParentReadsFromTheStore(t *testing.T) {
	o := newOrdered(t)
	read := int64(0)
	o.order.Progress = func(n int64) { read = n }
	result, err := Process{Memory: 512 << 20}.Replay(t.Context(), o.order)
	if err != nil || result.Revision != orderedRevision || result.Base != baseRevision || result.Events == 0 {
		t.Fatalf("%+v, error %v", result, err)
	}
	db, err := openDatabase(o.order.Options.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	if got, want := hashAt(t, db, orderedRevision), o.hashes[orderedRevision]; got != want {
		t.Errorf("the hash is %08x, want %08x", got, want)
	}
	size := int64(0)
	for _, l := range o.order.Links {
		size += int64(len(o.store[l.Key]))
	}
	if read != size {
		t.Errorf("the progress ends with %d bytes, want %d", read, size)
	}
}

// Each fault is in the second segment, so that the replay has begun.
func TestTheChildRefusesADamagedSegmentWithItsRevision(t *testing.T) {
	flip := func(o *ordered, key string, at int) {
		content := bytes.Clone(o.store[key])
		content[(at+len(content))%len(content)] ^= 4
		o.store[key] = content
	}
	for name, change := range map[string]func(o *ordered, key string){
		"a truncated segment":             func(o *ordered, key string) { o.store[key] = o.store[key][:len(o.store[key])-20] },
		"a truncated header":              func(o *ordered, key string) { o.store[key] = o.store[key][:30] },
		"a flipped bit in the records":    func(o *ordered, key string) { flip(o, key, -40) },
		"a flipped bit in the header":     func(o *ordered, key string) { flip(o, key, 60) },
		"the content of another segment":  func(o *ordered, key string) { o.store[key] = o.store[o.order.Links[2].Key] },
		"a segment that is left out":      func(o *ordered, _ string) { o.order.Links = slices.Delete(o.order.Links, 1, 2) },
		"a segment that is listed twice":  func(o *ordered, _ string) { o.order.Links = slices.Insert(o.order.Links, 1, o.order.Links[1]) },
		"two segments in the wrong order": func(o *ordered, _ string) { l := o.order.Links; l[1], l[2] = l[2], l[1] },
		"a segment of another timeline": func(o *ordered, key string) {
			other := store{}
			_, keys := other.write(o.t, o.events, 2, auth.State{})
			o.store[key] = other[keys[1]]
		},
		"a segment that was replaced after it was chosen": func(o *ordered, _ string) { o.order.Links[1].Header = o.order.Links[0].Header },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrdered(t)
			if len(o.order.Links) < 3 {
				t.Fatalf("%d segments", len(o.order.Links))
			}
			change(o, o.order.Links[1].Key)
			_, err := Process{}.Replay(t.Context(), o.order)
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "revision ") || !strings.Contains(err.Error(), root) {
				t.Errorf("error %v, want a refusal that names a revision and the object", err)
			}
		})
	}
}

// breaking is a store that fails within one object.
type breaking struct {
	store
	key string
	err error
}

func (b breaking) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	object, err := b.store.Get(ctx, key)
	if key != b.key || err != nil {
		return object, err
	}
	return io.NopCloser(io.MultiReader(io.LimitReader(object, 100), failing{b.err})), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestAFaultOfTheStoreIsNoFaultOfTheArchive(t *testing.T) {
	o := newOrdered(t)
	broken := errors.New("connection reset")
	o.order.Store = breaking{o.store, o.order.Links[1].Key, broken}
	_, err := Process{}.Replay(t.Context(), o.order)
	if !errors.Is(err, broken) || errors.Is(err, ErrRefused) || errors.Is(err, archive.ErrCorrupt) || errors.Is(err, dbfile.ErrMemory) {
		t.Errorf("error %v, want that of the store", err)
	}
	delete(o.store, o.order.Links[1].Key)
	o.order.Store, o.order.Options.Path = o.store, copyOf(t, o.base)
	if _, err = (Process{}).Replay(t.Context(), o.order); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), fmt.Sprint("revision ", o.order.Links[1].Header.First)) {
		t.Errorf("error %v, want fs.ErrNotExist with the revision", err)
	}
}

func TestTheParentSurvivesAReplayThatNeedsTooMuchMemory(t *testing.T) {
	o := newOrdered(t)
	if _, err := (Process{Memory: 24 << 20}).Replay(t.Context(), o.order); !errors.Is(err, dbfile.ErrMemory) || errors.Is(err, ErrRefused) {
		t.Errorf("error %v, want dbfile.ErrMemory", err)
	}
}

func TestTheChildEndsWithItsAttempt(t *testing.T) {
	o := newOrdered(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	o.order.Progress = func(int64) { cancel(errors.New("cancelled")) }
	if _, err := (Process{}).Replay(ctx, o.order); err == nil || err.Error() != "cancelled" {
		t.Errorf("error %v", err)
	}
}
