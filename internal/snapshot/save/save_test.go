package save_test

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
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestSaveStoresTheSnapshotAndItsManifest(t *testing.T) {
	content := snapshottest.Database(t, snapshottest.Member, 300)
	sum := sha256.Sum256(content)
	store := snapshottest.NewBucket(t)
	var progress []int64
	r := snapshottest.Request(t, store, content, func(r *save.Request) {
		r.Progress = func(n int64) { progress = append(progress, n) }
		r.MinRevision = 301
	})
	saved, err := save.Snapshot(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := save.Saved{Manifest: snapshot.Manifest{
		FormatVersion: 1, Cluster: r.Cluster, EtcdVersion: "3.7.3", StorageVersion: "3.7.0",
		Revision: 301, Keys: 300, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Hash: saved.Manifest.Hash, AuthEnabled: auth.Off,
		CreatedAt: snapshottest.Noon, Attempt: "attempt-1", Tool: "test",
	}}
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Errorf("saved differs (-want +got):\n%s", diff)
	}
	if !bytes.Equal(store.Content(snapshottest.Key), content) {
		t.Error("the object is not what etcd sent")
	}
	if got, err := snapshot.DecodeManifest(store.Content(snapshottest.Key + ".json")); err != nil || got != saved.Manifest {
		t.Errorf("the manifest is %+v, error %v", got, err)
	}
	if len(progress) == 0 || progress[len(progress)-1] != int64(len(content)) || !slices.IsSorted(progress) {
		t.Errorf("progress %v, want it to rise to %d", progress, len(content))
	}
	if left := snapshottest.OnDisk(t, r.SpoolDir); len(left) != 0 {
		t.Errorf("spool holds %q", left)
	}
}

func TestSaveStoresNothingIfTheSnapshotIsInvalid(t *testing.T) {
	good := snapshottest.Database(t, snapshottest.Member, 300)
	flipped := bytes.Clone(good)
	flipped[len(flipped)/3] ^= 4
	broken := errors.New("connection reset")
	for name, test := range map[string]struct {
		change func(*save.Request)
		want   error
	}{
		"a flipped bit":                         {func(r *save.Request) { r.Source = &snapshottest.Source{Content: flipped} }, dbfile.ErrCorrupt},
		"a stream that ends early":              {func(r *save.Request) { r.Source = &snapshottest.Source{Content: good[:len(good)-4096]} }, dbfile.ErrCorrupt},
		"a stream without its trailer":          {func(r *save.Request) { r.Source = &snapshottest.Source{Content: good[:len(good)-32]} }, dbfile.ErrNoTrailer},
		"an empty stream":                       {func(r *save.Request) { r.Source = &snapshottest.Source{} }, dbfile.ErrNoTrailer},
		"a stream that breaks":                  {func(r *save.Request) { r.Source = &snapshottest.Source{Content: good[:9000], Err: broken} }, broken},
		"a stream that breaks at its end":       {func(r *save.Request) { r.Source = &snapshottest.Source{Content: good, Err: broken} }, snapshot.ErrSource},
		"a member that refuses":                 {func(r *save.Request) { r.Source = &snapshottest.Source{Refuse: broken} }, snapshot.ErrSource},
		"a member that is behind":               {func(r *save.Request) { r.MinRevision = 302 }, snapshot.ErrStale},
		"a spool directory that does not exist": {func(r *save.Request) { r.SpoolDir = "/does/not/exist" }, snapshot.ErrDisk},
		"a valid trailer after a corrupt tree": {func(r *save.Request) {
			bad := bytes.Clone(good[:len(good)-32])
			for i := 2 * 4096; i < len(bad); i += 4096 {
				bad[i] ^= 1
			}
			sum := sha256.Sum256(bad)
			r.Source = &snapshottest.Source{Content: append(bad, sum[:]...)}
		}, dbfile.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			r := snapshottest.Request(t, store, good, test.change)
			_, err := save.Snapshot(t.Context(), r)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			for _, kind := range []error{fs.ErrExist, fs.ErrNotExist, fs.ErrPermission} {
				if errors.Is(err, kind) {
					t.Errorf("error %v must not be the store's %v", err, kind)
				}
			}
			if keys := store.Keys(); len(keys) != 0 {
				t.Errorf("the store holds %q", keys)
			}
			if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, good, nil)); err != nil {
				t.Errorf("the next try: %v", err)
			}
		})
	}
}

func TestSaveReturnsTheCauseAndNotTheStoresError(t *testing.T) {
	bad := snapshottest.Database(t, snapshottest.Member, 300)
	bad[len(bad)/3] ^= 4
	_, err := save.Snapshot(t.Context(), snapshottest.Request(t, taciturn{snapshottest.NewBucket(t)}, bad, nil))
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
	source := &snapshottest.Source{}
	for _, bad := range []string{"", "/a", "a/../b", "a\n", "a.json", strings.Repeat("x", 2000)} {
		if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, nil, nil, func(r *save.Request) { r.Key, r.Source = bad, source })); err == nil {
			t.Errorf("key %q was accepted", bad)
		}
	}
	if source.Asked != 0 {
		t.Error("the member was asked")
	}
}

func TestSaveStopsWhenItsContextEnds(t *testing.T) {
	store := snapshottest.NewBucket(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	r := snapshottest.Request(t, store, snapshottest.Database(t, snapshottest.Member, 300), func(r *save.Request) {
		r.Progress = func(int64) { cancel() }
	})
	if _, err := save.Snapshot(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if keys := store.Keys(); len(keys) != 0 {
		t.Errorf("the store holds %q", keys)
	}
}

func TestSaveNeverChangesForeignObjects(t *testing.T) {
	content := snapshottest.Database(t, snapshottest.Member, 300)
	earlier := snapshottest.Database(t, snapshottest.Member, 200)
	foreign := snapshottest.Database(t, snapshottest.OtherMember, 200)
	committed := func(attempt string) []byte {
		encoded, err := snapshottest.Manifest(func(m *snapshot.Manifest) { m.Attempt = attempt }).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	for name, prepare := range map[string]func(snapshottest.Bucket, *save.Request){
		"a foreign file":                func(b snapshottest.Bucket, _ *save.Request) { b.Write(snapshottest.Key, []byte("my thesis")) },
		"an empty file":                 func(b snapshottest.Bucket, _ *save.Request) { b.Write(snapshottest.Key, nil) },
		"a snapshot of another cluster": func(b snapshottest.Bucket, _ *save.Request) { b.Write(snapshottest.Key, foreign) },
		"a snapshot from before the request": func(b snapshottest.Bucket, _ *save.Request) {
			b.Write(snapshottest.Key, earlier)
			b.Age(snapshottest.Key, time.Hour)
		},
		"half a snapshot": func(b snapshottest.Bucket, _ *save.Request) { b.Write(snapshottest.Key, earlier[:len(earlier)/2]) },
		"a snapshot with a manifest of another attempt": func(b snapshottest.Bucket, _ *save.Request) {
			b.Write(snapshottest.Key, earlier)
			b.Write(snapshottest.Key+".json", committed("attempt-0"))
		},
		"a snapshot with a manifest without an attempt": func(b snapshottest.Bucket, _ *save.Request) {
			b.Write(snapshottest.Key, earlier)
			b.Write(snapshottest.Key+".json", committed(""))
		},
		"a foreign manifest without its object": func(b snapshottest.Bucket, _ *save.Request) {
			b.Write(snapshottest.Key+".json", committed("attempt-0"))
		},
		"our manifest without its object": func(b snapshottest.Bucket, _ *save.Request) {
			b.Write(snapshottest.Key+".json", committed("attempt-1"))
		},
		"a foreign file in place of the manifest": func(b snapshottest.Bucket, _ *save.Request) { b.Write(snapshottest.Key+".json", []byte("{}")) },
		"a manifest of a newer version": func(b snapshottest.Bucket, _ *save.Request) {
			b.Write(snapshottest.Key+".json", []byte(`{"formatVersion":9}`))
		},
		"a new snapshot if the request has no attempt": func(b snapshottest.Bucket, r *save.Request) { b.Write(snapshottest.Key, earlier); r.Attempt = "" },
		"a new snapshot if the request has no start time": func(b snapshottest.Bucket, r *save.Request) {
			b.Write(snapshottest.Key, earlier)
			r.Since = time.Time{}
		},
		"a new snapshot if the request has no member IDs": func(b snapshottest.Bucket, r *save.Request) {
			b.Write(snapshottest.Key, earlier)
			r.MemberIDs = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			r := snapshottest.Request(t, store, content, nil)
			prepare(store, &r)
			before := map[string]string{}
			for _, key := range store.Keys() {
				before[key] = string(store.Content(key))
			}
			_, err := save.Snapshot(t.Context(), r)
			if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), snapshottest.Key) {
				t.Errorf("error %v, want fs.ErrExist that names the key", err)
			}
			now := map[string]string{}
			for _, key := range store.Keys() {
				now[key] = string(store.Content(key))
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
	first, second := snapshottest.Database(t, snapshottest.Member, 300), snapshottest.Database(t, snapshottest.Member, 310)
	for _, when := range []snapshottest.When{snapshottest.Before, snapshottest.InBetween, snapshottest.After} {
		for at := 1; ; at++ {
			store := snapshottest.NewBucket(t)
			killed := &snapshottest.Mortal{Store: store, At: at, When: when}
			_, err := save.Snapshot(t.Context(), snapshottest.Request(t, killed, first, nil))
			if err == nil {
				if at < 4 {
					t.Errorf("only %d calls: does this test kill anything?", at-1)
				}
				break
			}
			t.Run(fmt.Sprintf("%s call %d", when, at), func(t *testing.T) {
				if !errors.Is(err, snapshottest.ErrKilled) {
					t.Errorf("error %v, want errKilled", err)
				}
				wantWhole(t, store, first)
				saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, second, nil))
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
func wantWhole(t *testing.T, store snapshottest.Bucket, contents ...[]byte) []catalog.Entry {
	t.Helper()
	listing, err := catalog.List(t.Context(), store, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(listing.Unreadable)+len(listing.Headless) != 0 {
		t.Errorf("left %v and %v", listing.Unreadable, listing.Headless)
	}
	for _, entry := range listing.Snapshots {
		got := store.Content(entry.Key)
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
	left, fresh := snapshottest.Database(t, snapshottest.Member, 300), snapshottest.Database(t, snapshottest.Member, 310)
	store := snapshottest.NewBucket(t)
	store.Write(snapshottest.Key, left)
	source := &snapshottest.Source{Content: fresh}
	saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, nil, func(r *save.Request) { r.Source, r.MinRevision = source, 311 }))
	if err != nil {
		t.Fatal(err)
	}
	if !saved.Found || saved.Manifest.Revision != 301 || source.Asked != 0 {
		t.Errorf("found %v, revision %d, asked %d times; want the existing one, at 301, and no request to etcd",
			saved.Found, saved.Manifest.Revision, source.Asked)
	}
	if saved.Manifest.CreatedAt.Equal(snapshottest.Noon) || saved.Manifest.EtcdVersion != "" {
		t.Errorf("manifest %+v has the time and version of the retry", saved.Manifest)
	}
	again, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, fresh, nil))
	if err != nil || !again.Found || again.Manifest != saved.Manifest {
		t.Errorf("asked again: %+v, error %v, want the same", again, err)
	}
}

// In TestSaveSucceedsIfTheStoresAnswerIsLost, the store has created the object, but its first answer is lost and the
// retried request finds the object.
func TestSaveSucceedsIfTheStoresAnswerIsLost(t *testing.T) {
	content := snapshottest.Database(t, snapshottest.Member, 300)
	for _, lost := range []string{snapshottest.Key, snapshottest.Key + ".json"} {
		t.Run(lost, func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, snapshottest.Forgetful{Store: store, Key: lost}, content, func(r *save.Request) {
				r.Attempt = "" // its own bytes are proof enough
			}))
			if err != nil {
				t.Fatal(err)
			}
			if saved.Found || saved.Manifest.EtcdVersion != "3.7.3" || !saved.Manifest.CreatedAt.Equal(snapshottest.Noon) {
				t.Errorf("saved %+v, want it to be this one", saved)
			}
			if got := wantWhole(t, store, content); len(got) != 1 {
				t.Errorf("lists %d snapshots, want 1", len(got))
			}
		})
	}
}

func TestOnlyOneOfTwoConcurrentSavesSucceeds(t *testing.T) {
	contents := [][]byte{snapshottest.Database(t, snapshottest.Member, 300), snapshottest.Database(t, snapshottest.OtherMember, 300)}
	store := snapshottest.NewBucket(t)
	errs := make(chan error, len(contents))
	for i, content := range contents {
		r := snapshottest.Request(t, store, content, func(r *save.Request) {
			r.Attempt = fmt.Sprint("attempt-", i)
			r.MemberIDs = []uint64{[]uint64{snapshottest.Member, snapshottest.OtherMember}[i]}
		})
		go func() {
			_, err := save.Snapshot(context.Background(), r)
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
