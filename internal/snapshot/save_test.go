package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

const key = "backups/before upgrade 100%.db"

// request returns a request that saves content to store, with an attempt that began a minute ago.
func request(t testing.TB, store objstore.Store, content []byte, change func(*Request)) Request {
	t.Helper()
	r := Request{
		Source: &source{content: content}, Store: store, Key: key, SpoolDir: t.TempDir(),
		Cluster:     Cluster{Namespace: "ns", Name: "example", UID: "3b1f", ID: "0000000000000001"},
		EtcdVersion: "3.7.3", Time: noon, Tool: "test",
		Attempt: "attempt-1", Since: time.Now().Add(-time.Minute), MemberIDs: []uint64{otherMember + 1, member},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestSaveStoresTheSnapshotAndItsManifest(t *testing.T) {
	content := database(t, member, 300)
	sum := sha256.Sum256(content)
	store := newBucket(t)
	var progress []int64
	r := request(t, store, content, func(r *Request) {
		r.Progress = func(n int64) { progress = append(progress, n) }
		r.MinRevision = 301
	})
	saved, err := Save(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := Saved{Manifest: Manifest{
		FormatVersion: 1, Cluster: r.Cluster, EtcdVersion: "3.7.3", StorageVersion: "3.7.0",
		Revision: 301, Keys: 300, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Hash: saved.Manifest.Hash, AuthEnabled: auth.Off,
		CreatedAt: noon, Attempt: "attempt-1", Tool: "test",
	}}
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Errorf("saved differs (-want +got):\n%s", diff)
	}
	if !bytes.Equal(store.get(key), content) {
		t.Error("the object is not what etcd sent")
	}
	if got, err := DecodeManifest(store.get(key + ".json")); err != nil || got != saved.Manifest {
		t.Errorf("the manifest is %+v, error %v", got, err)
	}
	if len(progress) == 0 || progress[len(progress)-1] != int64(len(content)) || !slices.IsSorted(progress) {
		t.Errorf("progress %v, want it to rise to %d", progress, len(content))
	}
	if left := onDisk(t, r.SpoolDir); len(left) != 0 {
		t.Errorf("spool holds %q", left)
	}
}

func TestSaveStoresNothingIfTheSnapshotIsInvalid(t *testing.T) {
	good := database(t, member, 300)
	flipped := bytes.Clone(good)
	flipped[len(flipped)/3] ^= 4
	broken := errors.New("connection reset")
	for name, test := range map[string]struct {
		change func(*Request)
		want   error
	}{
		"a flipped bit":                         {func(r *Request) { r.Source = &source{content: flipped} }, dbfile.ErrCorrupt},
		"a stream that ends early":              {func(r *Request) { r.Source = &source{content: good[:len(good)-4096]} }, dbfile.ErrCorrupt},
		"a stream without its trailer":          {func(r *Request) { r.Source = &source{content: good[:len(good)-32]} }, dbfile.ErrNoTrailer},
		"an empty stream":                       {func(r *Request) { r.Source = &source{} }, dbfile.ErrNoTrailer},
		"a stream that breaks":                  {func(r *Request) { r.Source = &source{content: good[:9000], err: broken} }, broken},
		"a stream that breaks at its end":       {func(r *Request) { r.Source = &source{content: good, err: broken} }, ErrSource},
		"a member that refuses":                 {func(r *Request) { r.Source = &source{refuse: broken} }, ErrSource},
		"a member that is behind":               {func(r *Request) { r.MinRevision = 302 }, ErrStale},
		"a spool directory that does not exist": {func(r *Request) { r.SpoolDir = "/does/not/exist" }, ErrDisk},
		"a valid trailer after a corrupt tree": {func(r *Request) {
			bad := bytes.Clone(good[:len(good)-32])
			for i := 2 * 4096; i < len(bad); i += 4096 {
				bad[i] ^= 1
			}
			sum := sha256.Sum256(bad)
			r.Source = &source{content: append(bad, sum[:]...)}
		}, dbfile.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			store := newBucket(t)
			r := request(t, store, good, test.change)
			_, err := Save(t.Context(), r)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			for _, kind := range []error{fs.ErrExist, fs.ErrNotExist, fs.ErrPermission} {
				if errors.Is(err, kind) {
					t.Errorf("error %v must not be the store's %v", err, kind)
				}
			}
			if keys := store.keys(); len(keys) != 0 {
				t.Errorf("the store holds %q", keys)
			}
			if _, err := Save(t.Context(), request(t, store, good, nil)); err != nil {
				t.Errorf("the next try: %v", err)
			}
		})
	}
}

func TestSaveReturnsTheCauseAndNotTheStoresError(t *testing.T) {
	bad := database(t, member, 300)
	bad[len(bad)/3] ^= 4
	_, err := Save(t.Context(), request(t, taciturn{newBucket(t)}, bad, nil))
	if !errors.Is(err, dbfile.ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt", err)
	}
}

// taciturn is a store that hides the errors of a body.
type taciturn struct{ objstore.Store }

func (s taciturn) Put(ctx context.Context, key string, body io.Reader) error {
	if s.Store.Put(ctx, key, body) != nil {
		return errors.New("upload failed")
	}
	return nil
}

func TestSaveRejectsAnInvalidKeyBeforeAnyRequest(t *testing.T) {
	source := &source{}
	for _, bad := range []string{"", "/a", "a/../b", "a\n", "a.json", strings.Repeat("x", 2000)} {
		if _, err := Save(t.Context(), request(t, nil, nil, func(r *Request) { r.Key, r.Source = bad, source })); err == nil {
			t.Errorf("key %q was accepted", bad)
		}
	}
	if source.asked != 0 {
		t.Error("the member was asked")
	}
}

func TestSaveStopsWhenItsContextEnds(t *testing.T) {
	store := newBucket(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	r := request(t, store, database(t, member, 300), func(r *Request) {
		r.Progress = func(int64) { cancel() }
	})
	if _, err := Save(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if keys := store.keys(); len(keys) != 0 {
		t.Errorf("the store holds %q", keys)
	}
}

func TestSaveNeverChangesForeignObjects(t *testing.T) {
	content := database(t, member, 300)
	earlier := database(t, member, 200)
	foreign := database(t, otherMember, 200)
	committed := func(attempt string) []byte {
		encoded, err := manifest(func(m *Manifest) { m.Attempt = attempt }).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	for name, prepare := range map[string]func(bucket, *Request){
		"a foreign file":                                  func(b bucket, _ *Request) { b.put(key, []byte("my thesis")) },
		"an empty file":                                   func(b bucket, _ *Request) { b.put(key, nil) },
		"a snapshot of another cluster":                   func(b bucket, _ *Request) { b.put(key, foreign) },
		"a snapshot from before the request":              func(b bucket, _ *Request) { b.put(key, earlier); b.age(key, time.Hour) },
		"half a snapshot":                                 func(b bucket, _ *Request) { b.put(key, earlier[:len(earlier)/2]) },
		"a snapshot with a manifest of another attempt":   func(b bucket, _ *Request) { b.put(key, earlier); b.put(key+".json", committed("attempt-0")) },
		"a snapshot with a manifest without an attempt":   func(b bucket, _ *Request) { b.put(key, earlier); b.put(key+".json", committed("")) },
		"a foreign manifest without its object":           func(b bucket, _ *Request) { b.put(key+".json", committed("attempt-0")) },
		"our manifest without its object":                 func(b bucket, _ *Request) { b.put(key+".json", committed("attempt-1")) },
		"a foreign file in place of the manifest":         func(b bucket, _ *Request) { b.put(key+".json", []byte("{}")) },
		"a manifest of a newer version":                   func(b bucket, _ *Request) { b.put(key+".json", []byte(`{"formatVersion":9}`)) },
		"a new snapshot if the request has no attempt":    func(b bucket, r *Request) { b.put(key, earlier); r.Attempt = "" },
		"a new snapshot if the request has no start time": func(b bucket, r *Request) { b.put(key, earlier); r.Since = time.Time{} },
		"a new snapshot if the request has no member IDs": func(b bucket, r *Request) {
			b.put(key, earlier)
			r.MemberIDs = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := newBucket(t)
			r := request(t, store, content, nil)
			prepare(store, &r)
			before := map[string]string{}
			for _, key := range store.keys() {
				before[key] = string(store.get(key))
			}
			_, err := Save(t.Context(), r)
			if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), key) {
				t.Errorf("error %v, want fs.ErrExist that names the key", err)
			}
			now := map[string]string{}
			for _, key := range store.keys() {
				now[key] = string(store.get(key))
			}
			if diff := cmp.Diff(before, now); diff != "" {
				t.Errorf("the store changed (-before +now):\n%s", diff)
			}
		})
	}
}

// TestSaveThatWasKilledIsCompletedByTheNextTry kills a save before, during and after each of its calls to the store, and
// lets another process retry.
func TestSaveThatWasKilledIsCompletedByTheNextTry(t *testing.T) {
	first, second := database(t, member, 300), database(t, member, 310)
	for _, when := range []when{before, inBetween, after} {
		for at := 1; ; at++ {
			store := newBucket(t)
			killed := &mortal{Store: store, at: at, when: when}
			_, err := Save(t.Context(), request(t, killed, first, nil))
			if err == nil {
				if at < 4 {
					t.Errorf("only %d calls: does this test kill anything?", at-1)
				}
				break
			}
			t.Run(fmt.Sprintf("%s call %d", when, at), func(t *testing.T) {
				if !errors.Is(err, errKilled) {
					t.Errorf("error %v, want errKilled", err)
				}
				wantWhole(t, store, first)
				saved, err := Save(t.Context(), request(t, store, second, nil))
				if err != nil {
					t.Fatalf("the next try: %v", err)
				}
				got := wantWhole(t, store, first, second)
				if len(got) != 1 || got[0].Manifest != saved.Manifest {
					t.Errorf("lists %+v, want the one that was reported: %+v", got, saved.Manifest)
				}
			})
		}
	}
}

// wantWhole checks that every listed snapshot has one of these contents.
func wantWhole(t *testing.T, store bucket, contents ...[]byte) []Entry {
	t.Helper()
	listing, err := List(t.Context(), store, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(listing.Unreadable)+len(listing.Headless) != 0 {
		t.Errorf("left %v and %v", listing.Unreadable, listing.Headless)
	}
	for _, entry := range listing.Snapshots {
		got := store.get(entry.Key)
		if !slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, got) }) {
			t.Errorf("%s holds %d bytes that were never sent", entry.Key, len(got))
		}
		if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != entry.Manifest.SHA256 {
			t.Errorf("%s does not match its manifest", entry.Key)
		}
	}
	return listing.Snapshots
}

func TestSaveAdoptsTheObjectOfAnEarlierTry(t *testing.T) {
	left, fresh := database(t, member, 300), database(t, member, 310)
	store := newBucket(t)
	store.put(key, left)
	source := &source{content: fresh}
	saved, err := Save(t.Context(), request(t, store, nil, func(r *Request) { r.Source, r.MinRevision = source, 311 }))
	if err != nil {
		t.Fatal(err)
	}
	if !saved.Found || saved.Manifest.Revision != 301 || source.asked != 0 {
		t.Errorf("found %v, revision %d, asked %d times; want the existing one, at 301, and no request to etcd",
			saved.Found, saved.Manifest.Revision, source.asked)
	}
	if saved.Manifest.CreatedAt.Equal(noon) || saved.Manifest.EtcdVersion != "" {
		t.Errorf("manifest %+v has the time and version of the retry", saved.Manifest)
	}
	again, err := Save(t.Context(), request(t, store, fresh, nil))
	if err != nil || !again.Found || again.Manifest != saved.Manifest {
		t.Errorf("asked again: %+v, error %v, want the same", again, err)
	}
}

// In TestSaveSucceedsIfTheStoresAnswerIsLost, the store has created the object, but its first answer is lost and the
// retried request finds the object.
func TestSaveSucceedsIfTheStoresAnswerIsLost(t *testing.T) {
	content := database(t, member, 300)
	for _, lost := range []string{key, key + ".json"} {
		t.Run(lost, func(t *testing.T) {
			store := newBucket(t)
			saved, err := Save(t.Context(), request(t, forgetful{store, lost}, content, func(r *Request) {
				r.Attempt = "" // its own bytes are proof enough
			}))
			if err != nil {
				t.Fatal(err)
			}
			if saved.Found || saved.Manifest.EtcdVersion != "3.7.3" || !saved.Manifest.CreatedAt.Equal(noon) {
				t.Errorf("saved %+v, want it to be this one", saved)
			}
			if got := wantWhole(t, store, content); len(got) != 1 {
				t.Errorf("lists %d snapshots, want 1", len(got))
			}
		})
	}
}

// forgetful stores one key twice, as a client does if the first answer is lost.
type forgetful struct {
	objstore.Store
	key string
}

func (f forgetful) Put(ctx context.Context, key string, body io.Reader) error {
	if key != f.key {
		return f.Store.Put(ctx, key, body)
	}
	var content bytes.Buffer
	if err := f.Store.Put(ctx, key, io.TeeReader(body, &content)); err != nil {
		return err
	}
	return f.Store.Put(ctx, key, &content)
}

func TestOnlyOneOfTwoConcurrentSavesSucceeds(t *testing.T) {
	contents := [][]byte{database(t, member, 300), database(t, otherMember, 300)}
	store := newBucket(t)
	errs := make(chan error, len(contents))
	for i, content := range contents {
		r := request(t, store, content, func(r *Request) {
			r.Attempt = fmt.Sprint("attempt-", i)
			r.MemberIDs = []uint64{[]uint64{member, otherMember}[i]}
		})
		go func() {
			_, err := Save(context.Background(), r)
			errs <- err
		}()
	}
	won := 0
	for range contents {
		if err := <-errs; err == nil {
			won++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Errorf("error %v, want fs.ErrExist", err)
		}
	}
	if got := wantWhole(t, store, contents...); won != 1 || len(got) != 1 {
		t.Errorf("%d won and %d snapshots are listed, want one of each", won, len(got))
	}
}

func TestCleanSpoolOnlyDeletesItsOwnFiles(t *testing.T) {
	dir := t.TempDir() + "/odd [name]*"
	for _, name := range []string{"spool-1.db", "fetch-2.db", "mine.db"} {
		put(t, dir, name)
	}
	if err := CleanSpool(dir); err != nil {
		t.Fatal(err)
	}
	if got := onDisk(t, dir); !slices.Equal(got, []string{"mine.db"}) {
		t.Errorf("left %q, want mine.db", got)
	}
	if err := CleanSpool(dir + "/absent"); err != nil {
		t.Errorf("a missing directory: error %v, want none", err)
	}
}
