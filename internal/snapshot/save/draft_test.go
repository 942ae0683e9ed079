package save_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// TestEncryptedSaveThatWasKilledIsCompletedByTheNextTry kills a save at each call to the store. The next try cannot
// decrypt the object, but must recognise it as its own. Without the draft, all later tries failed.
func TestEncryptedSaveThatWasKilledIsCompletedByTheNextTry(t *testing.T) {
	alice, identity := snapshottest.KeyPair(t)
	first, second := snapshottest.Database(t, snapshottest.Member, 30), snapshottest.Database(t, snapshottest.Member, 31)
	encrypted := func(r *save.Request) { r.Encoder, r.Again = codec.Encoder{Recipients: []string{alice}}, true }
	for _, when := range []snapshottest.When{snapshottest.Before, snapshottest.InBetween, snapshottest.After} {
		for at := 1; ; at++ {
			store := snapshottest.NewBucket(t)
			killed := &snapshottest.Mortal{Store: store, At: at, When: when}
			if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, killed, first, encrypted)); err == nil {
				if at < 6 {
					t.Errorf("only %d calls: does this test kill anything?", at-1)
				}
				break
			}
			t.Run(fmt.Sprintf("%s call %d", when, at), func(t *testing.T) {
				saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, second, encrypted))
				if err != nil {
					t.Fatalf("the next try: %v", err)
				}
				if want := []string{snapshottest.Key, snapshottest.Key + ".json"}; !slices.Equal(store.Keys(), want) {
					t.Errorf("the bucket holds %q, want %q", store.Keys(), want)
				}
				fetched, err := proof.Fetch(t.Context(), store, snapshottest.Key, proof.Alone(t.TempDir()), identity, snapshot.Anyone)
				if err != nil || fetched.SHA256 != saved.Manifest.SHA256 || fetched.Info.Keys != saved.Manifest.Keys {
					t.Errorf("fetched %+v, error %v, want what was reported: %+v", fetched, err, saved.Manifest)
				}
			})
		}
	}
}

func TestEncryptedObjectIsOnlyAdoptedWithItsDraft(t *testing.T) {
	alice, _ := snapshottest.KeyPair(t)
	content := snapshottest.Database(t, snapshottest.Member, 30)
	encrypted := func(change func(*save.Request)) func(*save.Request) {
		return func(r *save.Request) {
			r.Encoder, r.Again = codec.Encoder{Recipients: []string{alice}}, true
			if change != nil {
				change(r)
			}
		}
	}
	for name, test := range map[string]struct {
		leave func(b snapshottest.Bucket, draft string, content []byte)
		again func(*save.Request)
	}{
		"the draft is missing":            {leave: func(b snapshottest.Bucket, draft string, _ []byte) { b.Remove(draft) }},
		"the draft is of another attempt": {again: func(r *save.Request) { r.Attempt = "another" }},
		"the request has no attempt":      {again: func(r *save.Request) { r.Attempt = "" }},
		"the key is that of a series":     {again: func(r *save.Request) { r.Again = false }},
		"the draft is not a manifest":     {leave: func(b snapshottest.Bucket, draft string, _ []byte) { b.Remove(draft); b.Write(draft, []byte("mine")) }},
		"another object has the key": {leave: func(b snapshottest.Bucket, _ string, _ []byte) {
			b.Remove(snapshottest.Key)
			b.Write(snapshottest.Key, []byte(snapshottest.AgeStart+"of somebody"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			kept := snapshottest.Undeletable{Store: store}
			if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, kept, content, encrypted(nil))); err != nil {
				t.Fatal(err)
			}
			store.Remove(snapshottest.Key + ".json")
			left := store.Keys()
			if len(left) != 2 || !snapshot.OfDraft(snapshottest.Key, left[1]) {
				t.Fatalf("left %q, want the object and its draft", left)
			}
			if test.leave != nil {
				test.leave(store, left[1], content)
			}
			before := store.Keys()
			_, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, encrypted(test.again)))
			if !errors.Is(err, fs.ErrExist) {
				t.Errorf("error %v, want fs.ErrExist", err)
			}
			if after := store.Keys(); !slices.Equal(before, after) {
				t.Errorf("the bucket holds %q and held %q", after, before)
			}
		})
	}
}

func TestDropDraftsKeepsForeignObjects(t *testing.T) {
	store := snapshottest.NewBucket(t)
	mine := snapshottest.Key + snapshot.DraftMark + strings.Repeat("a", snapshot.DraftDigits)
	m := snapshottest.Manifest(func(m *snapshot.Manifest) { m.Attempt = "uid-1/cluster" })
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	store.Write(mine, text)
	others := []string{
		snapshottest.Key, snapshottest.Key + snapshot.DraftMark + strings.Repeat("b", snapshot.DraftDigits), snapshottest.Key + snapshot.DraftMark + "notes", snapshottest.Key + snapshot.DraftMark + strings.Repeat("z", snapshot.DraftDigits),
		mine + "0", "other/" + mine,
	}
	for _, name := range others {
		store.Write(name, []byte("mine"))
	}
	if err := save.DropDrafts(t.Context(), store, snapshottest.Key, "uid-2"); err != nil || len(store.Keys()) != len(others)+1 {
		t.Errorf("error %v, left %q", err, store.Keys())
	}
	if err := save.DropDrafts(t.Context(), store, snapshottest.Key, "uid-1"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(others)
	if got := store.Keys(); !slices.Equal(got, others) {
		t.Errorf("left %q, want %q", got, others)
	}
}

func TestSaveWritesNoDraftIfItsKeyWouldBeTooLong(t *testing.T) {
	alice, _ := snapshottest.KeyPair(t)
	store := snapshottest.NewBucket(t)
	long := strings.Repeat(strings.Repeat("x", 200)+"/", 5) + strings.Repeat("y", 14)
	kept := snapshottest.Undeletable{Store: store}
	_, err := save.Snapshot(t.Context(), snapshottest.Request(t, kept, snapshottest.Database(t, snapshottest.Member, 3), func(r *save.Request) {
		r.Key, r.Encoder, r.Again = long, codec.Encoder{Recipients: []string{alice}}, true
	}))
	if want := []string{long, long + ".json"}; err != nil || !slices.Equal(store.Keys(), want) {
		t.Errorf("error %v, the bucket holds %q", err, store.Keys())
	}
}

// unending lists an object with few bytes, and its body has no end.
type unending struct {
	snapshottest.Bucket
	read *int64
}

// Get returns the body.
func (e unending) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	body, err := e.Bucket.Get(ctx, name)
	if name != snapshottest.Key || err != nil {
		return body, err
	}
	return io.NopCloser(io.TeeReader(io.MultiReader(body, snapshottest.Zeros{}), counter{e.read})), nil
}

type counter struct{ n *int64 }

func (c counter) Write(b []byte) (int, error) {
	if *c.n += int64(len(b)); *c.n > 64<<20 {
		return 0, errors.New("the test ends the unending body")
	}
	return len(b), nil
}

// A server without an end kept one attempt until its time was over.
func TestAnObjectThatCannotBeDecryptedIsReadUpToItsListedSize(t *testing.T) {
	alice, _ := snapshottest.KeyPair(t)
	store, read := snapshottest.NewBucket(t), int64(0)
	store.Write(snapshottest.Key, []byte(snapshottest.AgeStart+strings.Repeat("x", 1<<20)))
	_, err := save.Snapshot(t.Context(), snapshottest.Request(t, unending{store, &read}, snapshottest.Database(t, snapshottest.Member, 3), func(r *save.Request) {
		r.Encoder, r.Again = codec.Encoder{Recipients: []string{alice}}, true
	}))
	if !errors.Is(err, fs.ErrExist) || read > 2<<20 {
		t.Errorf("error %v after %d KiB", err, read>>10)
	}
}

// The snapshot of a point in time lists members that do not exist any more. If the write of its manifest failed, the operator called its own
// object that of another cluster, and replayed the archive again every 5 minutes.
func TestASaveWithoutMembersThatWasKilledIsCompletedByTheNextTry(t *testing.T) {
	content := snapshottest.Database(t, snapshottest.Member, 20)
	for at := 1; at <= 8; at++ {
		store := snapshottest.NewBucket(t)
		try := func(s objstore.Store) error {
			_, err := save.Snapshot(t.Context(), snapshottest.Request(t, s, content, func(r *save.Request) { r.MemberIDs, r.Again = nil, true }))
			return err
		}
		_ = try(&snapshottest.Mortal{Store: store, At: at, When: snapshottest.After})
		if err := try(store); err != nil {
			t.Errorf("killed after call %d: %v", at, err)
		}
	}
}
