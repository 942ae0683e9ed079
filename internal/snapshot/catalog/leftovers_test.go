package catalog_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestOnlyOldObjectsWithADraftOfTheirOwnAreLeftovers(t *testing.T) {
	reborn, longer := snapshottest.Ours, snapshottest.Ours
	reborn.ClusterID, longer.Cluster = 2, "example-2"
	b := snapshottest.NewBucket(t)
	put := func(key string, age time.Duration, content []byte) string {
		b.Write(key, content)
		at := snapshottest.Noon.Add(-age)
		if err := os.Chtimes(filepath.Join(b.Dir, key), at, at); err != nil {
			t.Fatal(err)
		}
		return key
	}
	draft := func(key, attempt string, age time.Duration) string {
		m := snapshottest.Entry(snapshottest.Ours, 1, 1).Manifest
		m.Attempt = attempt
		content, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return put(key+".draft-0123456789abcdef", age, content)
	}
	const day, mine = 25 * time.Hour, "uid/0000000000000001"
	object := func(series snapshot.Series, n int) string {
		return put(snapshottest.Entry(series, n, int64(n)).Key, day, nil)
	}

	killed, elsewhere := object(snapshottest.Ours, 1), object(reborn, 1)
	killedDraft, elsewhereDraft := draft(killed, mine, day), draft(elsewhere, mine, day)
	whole := object(snapshottest.Ours, 2)
	put(snapshot.ManifestKey(whole), day, nil)
	needless := draft(whole, "other/1", day)
	// Amazon reports the start of an upload in parts. Its draft is new.
	draft(object(snapshottest.Ours, 3), mine, time.Minute)
	draft(put(snapshottest.Entry(snapshottest.Ours, 4, 4).Key, time.Minute, nil), mine, day)
	// A person has deleted the manifest of a complete snapshot, and the verdict of another.
	tested := object(snapshottest.Ours, 5)
	put(snapshot.VerdictKey(tested, snapshot.Passed), day, nil)
	unknown := object(snapshottest.Ours, 6)
	foreign := object(snapshottest.Ours, 7)
	draft(foreign, "uid2/0000000000000001", day)
	// The uploads behind these drafts never ended.
	never := draft(snapshottest.Entry(snapshottest.Ours, 8, 8).Key, mine, day)
	draft(snapshottest.Entry(snapshottest.Ours, 9, 9).Key, "other/1", day)
	verdict := put(snapshot.VerdictKey(snapshottest.Entry(snapshottest.Ours, 10, 10).Key, snapshot.Failed), day, nil)
	draft(object(longer, 1), mine, day)
	for _, name := range []string{"f/ns/example/0000000000000001/mine.db", "f/ns/example/notes.txt"} {
		put(name, day, nil)
	}

	got, err := catalog.FindLeftovers(t.Context(), b, snapshottest.Ours, "uid", snapshottest.Noon.Add(-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want := catalog.Leftovers{Delete: []string{needless, never, verdict}, Keep: []string{unknown, foreign}, Unfinished: []catalog.Drafted{{killed, killedDraft, 0}, {elsewhere, elsewhereDraft, 0}}}
	for _, keys := range [][]string{want.Delete, want.Keep, got.Delete, got.Keep} {
		slices.Sort(keys)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("leftovers (-want +got):\n%s", diff)
	}
}

// A process is killed at each call to the store. Its EtcdBackup recognises the leftover objects later, and no other
// EtcdBackup does.
func TestASaveThatWasKilledLeavesNothingWithoutAWriter(t *testing.T) {
	content := snapshottest.Database(t, snapshottest.Member, 30)
	inSeries := func(r *save.Request) {
		r.Key, r.Attempt = snapshottest.Ours.Key(snapshottest.Noon, 30), "uid/0000000000000001"
	}
	for _, when := range []snapshottest.When{snapshottest.Before, snapshottest.InBetween, snapshottest.After} {
		left := 0
		for at := 1; ; at++ {
			b := snapshottest.NewBucket(t)
			if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, &snapshottest.Mortal{Store: b, At: at, When: when}, content, inSeries)); err == nil && at > 4 {
				break
			}
			mine, err := catalog.FindLeftovers(t.Context(), b, snapshottest.Ours, "uid", time.Now().Add(time.Hour))
			mine.DeleteAll()
			if err != nil || len(mine.Keep) > 0 {
				t.Errorf("%s call %d: %+v, error %v, in the bucket %q", when, at, mine, err, b.Keys())
			}
			others, err := catalog.FindLeftovers(t.Context(), b, snapshottest.Ours, "uid2", time.Now().Add(time.Hour))
			if err != nil || slices.ContainsFunc(others.Delete, func(key string) bool { _, drafted := snapshot.DraftedKey(key); return !drafted }) {
				t.Errorf("%s call %d: another deletes %+v, error %v, in the bucket %q", when, at, others, err, b.Keys())
			}
			for _, key := range mine.Delete {
				b.Remove(key)
				left++
			}
			if keys := b.Keys(); len(keys) != 0 && len(keys) != 2 {
				t.Errorf("%s call %d leaves %q", when, at, keys)
			}
		}
		if left == 0 {
			t.Errorf("%s: no object is left: does this test kill anything?", when)
		}
	}
}

// A listing omitted the manifest of a snapshot whose draft could not be deleted. The snapshot was deleted as a leftover.
func TestASnapshotWhoseManifestOneListingOmitsIsNoLeftover(t *testing.T) {
	m, keys := snapshottest.SeriesInMemory(t, 1)
	content, err := snapshottest.EntryOf("uid-1", 0).Manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	draft, _ := snapshot.DraftKey(keys[0], strings.Repeat("ab", 32))
	if err := m.Put(t.Context(), draft, objstore.NewMetadata(content)); err != nil {
		t.Fatal(err)
	}
	m.Set(snapshot.ManifestKey(keys[0]), objstoretest.Omitted)
	left, err := catalog.FindLeftovers(t.Context(), m, snapshottest.Ours, "uid-1", snapshottest.Noon.Add(time.Hour))
	if err != nil || len(left.Delete) > 0 {
		t.Errorf("deletes %q, error %v", left.Delete, err)
	}
}

// uploads is a store with unfinished uploads.
type uploads struct {
	objstore.Store
	kept    []objstore.Upload
	aborted []string
}

func (u *uploads) Uploads(_ context.Context, prefix string) iter.Seq2[objstore.Upload, error] {
	return func(yield func(objstore.Upload, error) bool) {
		for _, upload := range u.kept {
			if strings.HasPrefix(upload.Key, prefix) && !yield(upload, nil) {
				return
			}
		}
	}
}

func (u *uploads) Abort(_ context.Context, upload objstore.Upload) error {
	u.aborted = append(u.aborted, upload.ID)
	return nil
}

func TestAbortUploadsOnlyAbortsStaleUploads(t *testing.T) {
	store := &uploads{kept: []objstore.Upload{
		{Key: "a/old", ID: "1", Started: snapshottest.Noon.Add(-25 * time.Hour)},
		{Key: "a/young", ID: "2", Started: snapshottest.Noon},
		{Key: "b/old", ID: "3", Started: snapshottest.Noon.Add(-25 * time.Hour)},
	}}
	n, err := catalog.AbortUploads(t.Context(), store, "a/", func(_ string, started time.Time) bool { return started.Before(snapshottest.Noon.Add(-24 * time.Hour)) })
	if err != nil || n != 1 || len(store.aborted) != 1 || store.aborted[0] != "1" {
		t.Errorf("aborted %q, error %v, want the first alone", store.aborted, err)
	}
	if n, err := catalog.AbortUploads(t.Context(), snapshottest.NewBucket(t), "", nil); n != 0 || err != nil {
		t.Errorf("a store without such: %d, error %v", n, err)
	}
}
