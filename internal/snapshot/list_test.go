package snapshot

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// commit writes an entry as Save does.
func (b bucket) commit(e Entry) {
	b.t.Helper()
	content, err := e.Manifest.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	b.put(e.Key, make([]byte, e.Manifest.Size))
	b.put(ManifestKey(e.Key), content)
}

func TestListReturnsSnapshotsAndLeftovers(t *testing.T) {
	store := newBucket(t)
	oldest, middle, newest := entry(ours, 1, 900), entry(ours, 2, 9), entry(ours, 3, 10)
	for _, e := range []Entry{middle, newest, oldest, entry(Series{"f", "ns", "example-2", 1}, 9, 1)} {
		store.commit(e)
	}
	headless, unreadable, newer, short := entry(ours, 4, 1), entry(ours, 5, 1), entry(ours, 6, 1), entry(ours, 7, 1)
	store.commit(headless)
	if err := store.Delete(t.Context(), headless.Key); err != nil {
		t.Fatal(err)
	}
	store.put(unreadable.Key, []byte("x"))
	store.put(ManifestKey(unreadable.Key), []byte("{"))
	store.put(newer.Key, []byte("x"))
	store.put(ManifestKey(newer.Key), []byte(`{"formatVersion": 2}`))
	store.commit(short)
	store.replace(short.Key, []byte("cut"))
	uncommitted := entry(ours, 8, 1)
	store.put(uncommitted.Key, []byte("x"))
	store.put(ours.Prefix()+"readme.txt", []byte("x"))
	store.put(ours.Prefix()+"settings.json", []byte("{}"))

	got, err := List(t.Context(), store, ours.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Entry{newest, middle, oldest}, got.Snapshots); diff != "" {
		t.Errorf("snapshots (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Entry{headless}, got.Headless); diff != "" {
		t.Errorf("headless (-want +got):\n%s", diff)
	}
	if len(got.Uncommitted) != 1 || got.Uncommitted[0].Key != uncommitted.Key {
		t.Errorf("uncommitted %+v, want %s", got.Uncommitted, uncommitted.Key)
	}
	for e, want := range map[Entry]error{unreadable: ErrManifest, newer: ErrNewerFormat, short: ErrManifest} {
		if err := got.Unreadable[ManifestKey(e.Key)]; !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", e.Key, err, want)
		}
	}
	if len(got.Unreadable) != 3 {
		t.Errorf("unreadable %v, want three", got.Unreadable)
	}
	if e, ok := got.Newest(); !ok || e != newest {
		t.Errorf("newest %+v, %v", e, ok)
	}
}

func TestListOfAnEmptyPrefixIsEmpty(t *testing.T) {
	got, err := List(t.Context(), newBucket(t), "f/")
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := got.Newest(); ok {
		t.Errorf("newest %+v of nothing", e)
	}
}

func TestListReturnsTheStoresError(t *testing.T) {
	store := newBucket(t)
	for i := range 20 {
		store.commit(entry(ours, i, 1))
	}
	broken := errors.New("connection reset")
	_, err := List(t.Context(), failingGets{store, broken}, ours.Prefix())
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "list snapshots") {
		t.Errorf("error %v, want the store's", err)
	}
}

type failingGets struct {
	objstore.Store
	err error
}

func (f failingGets) Get(context.Context, string) (io.ReadCloser, error) { return nil, f.err }

// TestRetentionThatWasKilledIsCompletedByTheNextRun kills a retention run at each call. Every listed snapshot must be
// complete at any time.
func TestRetentionThatWasKilledIsCompletedByTheNextRun(t *testing.T) {
	policy := Policy{MaxBackups: 2}
	run := func(t *testing.T, store objstore.Store) error {
		policy.Now = noon.Add(time.Hour)
		d, err := prune(t.Context(), store, policy)
		if err != nil {
			return err
		}
		for _, key := range d.Delete {
			if err := store.Delete(t.Context(), key); err != nil {
				return err
			}
		}
		return nil
	}
	for _, when := range []when{before, after} {
		for at := 1; ; at++ {
			store := newBucket(t)
			for i := range 5 {
				store.commit(entry(ours, i, int64(i)))
			}
			if err := run(t, &mortal{Store: store, at: at, when: when}); err == nil {
				break
			}
			listing, err := List(t.Context(), store, ours.Prefix())
			if err != nil {
				t.Fatal(err)
			}
			if len(listing.Unreadable)+len(listing.Uncommitted) != 0 || len(listing.Snapshots) < 2 {
				t.Errorf("killed %s call %d: left %+v", when, at, listing)
			}
			if err := run(t, store); err != nil {
				t.Fatal(err)
			}
			want := []string{entry(ours, 3, 3).Key, entry(ours, 3, 3).Key + ".json", entry(ours, 4, 4).Key, entry(ours, 4, 4).Key + ".json"}
			if diff := cmp.Diff(want, store.keys()); diff != "" {
				t.Errorf("killed %s call %d, finished (-want +got):\n%s", when, at, diff)
			}
		}
	}
}

// prune decides about a store.
func prune(ctx context.Context, store objstore.Store, policy Policy) (Decision, error) {
	index, err := Scan(ctx, store, ours.Prefix())
	if err != nil {
		return Decision{}, err
	}
	return Retain(ctx, store, ours, index, Known{}, policy)
}
