package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyOldObjectsWithADraftOfTheirOwnAreLeftovers(t *testing.T) {
	reborn, longer := ours, ours
	reborn.ClusterID, longer.Cluster = 2, "example-2"
	b := newBucket(t)
	put := func(key string, age time.Duration, content []byte) string {
		b.put(key, content)
		at := noon.Add(-age)
		if err := os.Chtimes(filepath.Join(b.dir, key), at, at); err != nil {
			t.Fatal(err)
		}
		return key
	}
	draft := func(key, attempt string, age time.Duration) string {
		m := entry(ours, 1, 1).Manifest
		m.Attempt = attempt
		content, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return put(key+".draft-0123456789abcdef", age, content)
	}
	const day, mine = 25 * time.Hour, "uid/0000000000000001"
	object := func(series Series, n int) string { return put(entry(series, n, int64(n)).Key, day, nil) }

	killed, elsewhere := object(ours, 1), object(reborn, 1)
	killedDraft, elsewhereDraft := draft(killed, mine, day), draft(elsewhere, mine, day)
	whole := object(ours, 2)
	put(ManifestKey(whole), day, nil)
	needless := draft(whole, "other/1", day)
	// Amazon reports the start of an upload in parts. Its draft is new.
	draft(object(ours, 3), mine, time.Minute)
	draft(put(entry(ours, 4, 4).Key, time.Minute, nil), mine, day)
	// A person has deleted the manifest of a complete snapshot, and the verdict of another.
	tested := object(ours, 5)
	put(VerdictKey(tested, Passed), day, nil)
	unknown := object(ours, 6)
	foreign := object(ours, 7)
	draft(foreign, "uid2/0000000000000001", day)
	// The uploads behind these drafts never ended.
	never := draft(entry(ours, 8, 8).Key, mine, day)
	draft(entry(ours, 9, 9).Key, "other/1", day)
	verdict := put(VerdictKey(entry(ours, 10, 10).Key, Failed), day, nil)
	draft(object(longer, 1), mine, day)
	for _, name := range []string{"f/ns/example/0000000000000001/mine.db", "f/ns/example/notes.txt"} {
		put(name, day, nil)
	}

	got, err := FindLeftovers(t.Context(), b, ours, "uid", noon.Add(-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want := Leftovers{Delete: []string{needless, never, verdict}, Keep: []string{unknown, foreign}, Unfinished: []Drafted{{killed, killedDraft, 0}, {elsewhere, elsewhereDraft, 0}}}
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
	content := database(t, member, 30)
	inSeries := func(r *Request) { r.Key, r.Attempt = ours.Key(noon, 30), "uid/0000000000000001" }
	for _, when := range []when{before, inBetween, after} {
		left := 0
		for at := 1; ; at++ {
			b := newBucket(t)
			if _, err := Save(t.Context(), request(t, &mortal{Store: b, at: at, when: when}, content, inSeries)); err == nil && at > 4 {
				break
			}
			mine, err := FindLeftovers(t.Context(), b, ours, "uid", time.Now().Add(time.Hour))
			mine.DeleteAll()
			if err != nil || len(mine.Keep) > 0 {
				t.Errorf("%s call %d: %+v, error %v, in the bucket %q", when, at, mine, err, b.keys())
			}
			others, err := FindLeftovers(t.Context(), b, ours, "uid2", time.Now().Add(time.Hour))
			if err != nil || slices.ContainsFunc(others.Delete, func(key string) bool { _, drafted := draftedKey(key); return !drafted }) {
				t.Errorf("%s call %d: another deletes %+v, error %v, in the bucket %q", when, at, others, err, b.keys())
			}
			for _, key := range mine.Delete {
				b.remove(key)
				left++
			}
			if keys := b.keys(); len(keys) != 0 && len(keys) != 2 {
				t.Errorf("%s call %d leaves %q", when, at, keys)
			}
		}
		if left == 0 {
			t.Errorf("%s: no object is left: does this test kill anything?", when)
		}
	}
}
