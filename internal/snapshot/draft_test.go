package snapshot

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
)

// TestEncryptedSaveThatWasKilledIsCompletedByTheNextTry kills a save at each call to the store. The next try cannot
// decrypt the object, but must recognise it as its own. Without the draft, all later tries failed.
func TestEncryptedSaveThatWasKilledIsCompletedByTheNextTry(t *testing.T) {
	alice, identity := keyPair(t)
	first, second := database(t, member, 30), database(t, member, 31)
	encrypted := func(r *Request) { r.Encoder, r.Again = codec.Encoder{Recipients: []string{alice}}, true }
	for _, when := range []when{before, inBetween, after} {
		for at := 1; ; at++ {
			store := newBucket(t)
			killed := &mortal{Store: store, at: at, when: when}
			if _, err := Save(t.Context(), request(t, killed, first, encrypted)); err == nil {
				if at < 6 {
					t.Errorf("only %d calls: does this test kill anything?", at-1)
				}
				break
			}
			t.Run(fmt.Sprintf("%s call %d", when, at), func(t *testing.T) {
				saved, err := Save(t.Context(), request(t, store, second, encrypted))
				if err != nil {
					t.Fatalf("the next try: %v", err)
				}
				if want := []string{key, key + ".json"}; !slices.Equal(store.keys(), want) {
					t.Errorf("the bucket holds %q, want %q", store.keys(), want)
				}
				fetched, err := Fetch(t.Context(), store, key, Alone(t.TempDir()), identity, Anyone)
				if err != nil || fetched.SHA256 != saved.Manifest.SHA256 || fetched.Info.Keys != saved.Manifest.Keys {
					t.Errorf("fetched %+v, error %v, want what was reported: %+v", fetched, err, saved.Manifest)
				}
			})
		}
	}
}

func TestEncryptedObjectIsOnlyAdoptedWithItsDraft(t *testing.T) {
	alice, _ := keyPair(t)
	content := database(t, member, 30)
	encrypted := func(change func(*Request)) func(*Request) {
		return func(r *Request) {
			r.Encoder, r.Again = codec.Encoder{Recipients: []string{alice}}, true
			if change != nil {
				change(r)
			}
		}
	}
	for name, test := range map[string]struct {
		leave func(b bucket, draft string, content []byte)
		again func(*Request)
	}{
		"the draft is missing":            {leave: func(b bucket, draft string, _ []byte) { b.remove(draft) }},
		"the draft is of another attempt": {again: func(r *Request) { r.Attempt = "another" }},
		"the request has no attempt":      {again: func(r *Request) { r.Attempt = "" }},
		"the key is that of a series":     {again: func(r *Request) { r.Again = false }},
		"the draft is not a manifest":     {leave: func(b bucket, draft string, _ []byte) { b.remove(draft); b.put(draft, []byte("mine")) }},
		"another object has the key":      {leave: func(b bucket, _ string, _ []byte) { b.remove(key); b.put(key, []byte(ageStart+"of somebody")) }},
	} {
		t.Run(name, func(t *testing.T) {
			store := newBucket(t)
			kept := undeletable{store}
			if _, err := Save(t.Context(), request(t, kept, content, encrypted(nil))); err != nil {
				t.Fatal(err)
			}
			store.remove(key + ".json")
			left := store.keys()
			if len(left) != 2 || !ofDraft(key, left[1]) {
				t.Fatalf("left %q, want the object and its draft", left)
			}
			if test.leave != nil {
				test.leave(store, left[1], content)
			}
			before := store.keys()
			_, err := Save(t.Context(), request(t, store, content, encrypted(test.again)))
			if !errors.Is(err, fs.ErrExist) {
				t.Errorf("error %v, want fs.ErrExist", err)
			}
			if after := store.keys(); !slices.Equal(before, after) {
				t.Errorf("the bucket holds %q and held %q", after, before)
			}
		})
	}
}

func TestDropDraftsKeepsForeignObjects(t *testing.T) {
	store := newBucket(t)
	mine := key + draftMark + strings.Repeat("a", draftDigits)
	m := manifest(func(m *Manifest) { m.Attempt = "uid-1/cluster" })
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	store.put(mine, text)
	others := []string{
		key, key + draftMark + strings.Repeat("b", draftDigits), key + draftMark + "notes", key + draftMark + strings.Repeat("z", draftDigits),
		mine + "0", "other/" + mine,
	}
	for _, name := range others {
		store.put(name, []byte("mine"))
	}
	if err := DropDrafts(t.Context(), store, key, "uid-2"); err != nil || len(store.keys()) != len(others)+1 {
		t.Errorf("error %v, left %q", err, store.keys())
	}
	if err := DropDrafts(t.Context(), store, key, "uid-1"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(others)
	if got := store.keys(); !slices.Equal(got, others) {
		t.Errorf("left %q, want %q", got, others)
	}
}

func TestSaveWritesNoDraftIfItsKeyWouldBeTooLong(t *testing.T) {
	alice, _ := keyPair(t)
	store := newBucket(t)
	long := strings.Repeat(strings.Repeat("x", 200)+"/", 5) + strings.Repeat("y", 14)
	kept := undeletable{store}
	_, err := Save(t.Context(), request(t, kept, database(t, member, 3), func(r *Request) {
		r.Key, r.Encoder, r.Again = long, codec.Encoder{Recipients: []string{alice}}, true
	}))
	if want := []string{long, long + ".json"}; err != nil || !slices.Equal(store.keys(), want) {
		t.Errorf("error %v, the bucket holds %q", err, store.keys())
	}
}

// unending lists an object with few bytes, and its body has no end.
type unending struct {
	bucket
	read *int64
}

// Get returns the body.
func (e unending) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	body, err := e.bucket.Get(ctx, name)
	if name != key || err != nil {
		return body, err
	}
	return io.NopCloser(io.TeeReader(io.MultiReader(body, zeros{}), counter{e.read})), nil
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

type counter struct{ n *int64 }

func (c counter) Write(b []byte) (int, error) {
	if *c.n += int64(len(b)); *c.n > 64<<20 {
		return 0, errors.New("the test ends the unending body")
	}
	return len(b), nil
}

// A server without an end kept one attempt until its time was over.
func TestAnObjectThatCannotBeDecryptedIsReadUpToItsListedSize(t *testing.T) {
	alice, _ := keyPair(t)
	store, read := newBucket(t), int64(0)
	store.put(key, []byte(ageStart+strings.Repeat("x", 1<<20)))
	_, err := Save(t.Context(), request(t, unending{store, &read}, database(t, member, 3), func(r *Request) {
		r.Encoder, r.Again = codec.Encoder{Recipients: []string{alice}}, true
	}))
	if !errors.Is(err, fs.ErrExist) || read > 2<<20 {
		t.Errorf("error %v after %d KiB", err, read>>10)
	}
}
