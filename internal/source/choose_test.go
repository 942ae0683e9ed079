package source

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// shelf is a directory that serves as a bucket.
type shelf struct {
	*testing.T
	bucket  string
	content []byte
}

func newShelf(t *testing.T) shelf {
	return shelf{t, t.TempDir(), dbfiletest.New(t, 1).Put(1, 10).Snapshot()}
}

var dawn = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// file writes any object.
func (s shelf) file(key string, content []byte) {
	s.Helper()
	path := filepath.Join(s.bucket, filepath.FromSlash(key))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
		s.Fatal(err)
	}
}

// saved writes a snapshot of a series with its manifest, taken so many hours after dawn, and returns its key.
func (s shelf) saved(cluster string, id uint64, hours int) string {
	s.Helper()
	return s.savedAt(cluster, id, dawn.Add(time.Duration(hours)*time.Hour), int64(hours), 2)
}

// savedAt is saved for a time, a revision in the name and one in the manifest.
func (s shelf) savedAt(cluster string, id uint64, at time.Time, named, revision int64) string {
	s.Helper()
	series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: cluster, ClusterID: id}
	key := series.Key(at, named)
	s.file(key, s.content)
	m := snapshot.Manifest{
		FormatVersion: 1, Revision: revision, Keys: 1, Size: int64(len(s.content)), SHA256: strings.Repeat("ab", 32), CreatedAt: at,
		Cluster: snapshot.Cluster{Namespace: "ns", Name: cluster, ID: strings.Split(key, "/")[3]},
	}
	text, err := m.Encode()
	if err != nil {
		s.Fatal(err)
	}
	s.file(snapshot.ManifestKey(key), text)
	s.stored(key, at)
	return key
}

// stored sets the time at which the store received an object.
func (s shelf) stored(key string, at time.Time) {
	s.Helper()
	if err := os.Chtimes(filepath.Join(s.bucket, key), at, at); err != nil {
		s.Fatal(err)
	}
}

// captured sets the time at which the member had begun to send a snapshot.
func (s shelf) captured(key string, at time.Time) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.bucket, snapshot.ManifestKey(key)))
	if err != nil {
		s.Fatal(err)
	}
	m, err := snapshot.DecodeManifest(text)
	if err != nil {
		s.Fatal(err)
	}
	m.CapturedAt = at
	if text, err = m.Encode(); err != nil {
		s.Fatal(err)
	}
	s.file(snapshot.ManifestKey(key), text)
}

func TestASnapshotThatBeganBeforeAMistakeAndHoldsItIsNotRestored(t *testing.T) {
	s := newShelf(t)
	good := s.saved("a", 1, 1)
	late := s.saved("a", 1, 2)
	mistake := dawn.Add(2*time.Hour + time.Minute)
	s.captured(late, mistake.Add(time.Second))
	key, why, err := s.find(Choice{Before: mistake.Format(time.RFC3339)})
	if err != nil || key != good || !strings.Contains(why, "1 were begun by") {
		t.Errorf("%s, because %q, %v", key, why, err)
	}
	s.captured(late, mistake)
	if key, why, err = s.find(Choice{Before: mistake.Format(time.RFC3339)}); err != nil || key != late {
		t.Errorf("%s, because %q, %v", key, why, err)
	}
}

func (s shelf) find(c Choice) (key, why string, err error) {
	c.Folder = true
	found, why, err := Find(s.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: "daily/"}, By{}, c)
	return found.Key, why, err
}

func TestFindTakesTheNewestThatFits(t *testing.T) {
	s := newShelf(t)
	older := s.saved("a", 1, 1)
	middle := s.saved("a", 1, 2)
	newest := s.saved("a", 2, 3)
	// None of these is a snapshot that was committed.
	uncommitted := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 2}.Key(dawn.Add(9*time.Hour), 9)
	s.file(uncommitted, s.content)
	s.file("daily/zzz.db", s.content)
	s.file("daily/notes.json", []byte(`{"a": "note"}`))
	s.file("daily/a_v9_2026-01-02-12:00:00", s.content)

	for name, test := range map[string]struct {
		choice Choice
		want   string
		says   string
	}{
		"of all, and says that there are other cluster IDs": {Choice{}, newest, "the newest of 3 snapshots below " + s.bucket + "/daily/: taken at 2026-01-02T06:00:00Z of cluster ID 0000000000000002; there are older ones of 1 other cluster IDs"},
		"before a time":     {Choice{Before: dawn.Add(150 * time.Minute).Format(time.RFC3339)}, middle, "the newest of 2 snapshots that fit, of 3"},
		"at that very time": {Choice{Before: dawn.Add(2 * time.Hour).Format(time.RFC3339)}, middle, ""},
		"of a cluster ID":   {Choice{ClusterID: "0000000000000001"}, middle, "of cluster ID 0000000000000001"},
		"of a key":          {Choice{Name: older}, older, "that is called"},
		"of a file's name":  {Choice{Name: filepath.Base(older)}, older, ""},
		"of a path":         {Choice{Name: s.bucket + "/" + older}, older, ""},
	} {
		t.Run(name, func(t *testing.T) {
			key, why, err := s.find(test.choice)
			if err != nil || key != test.want || !strings.Contains(why, test.says) {
				t.Errorf("%s, because %q, %v", key, why, err)
			}
		})
	}
	for name, choice := range map[string]Choice{
		"nothing is old enough":                        {Before: dawn.Format(time.RFC3339)},
		"nothing is of that ID":                        {ClusterID: "0000000000000009"},
		"nothing has that name":                        {Name: "absent.db"},
		"only a file without a manifest has that name": {Name: filepath.Base(uncommitted)},
	} {
		t.Run("finds nothing where "+name, func(t *testing.T) {
			if key, _, err := s.find(choice); !errors.Is(err, fs.ErrNotExist) || !Final(err) {
				t.Errorf("%s, %v", key, err)
			}
		})
	}
}

func TestFindGuessesNothing(t *testing.T) {
	t.Run("between two clusters", func(t *testing.T) {
		s := newShelf(t)
		s.saved("a", 1, 1)
		s.saved("b", 2, 2)
		if key, _, err := s.find(Choice{}); !errors.Is(err, ErrAmbiguous) || !strings.Contains(err.Error(), "ns/a, ns/b") {
			t.Errorf("%s, %v", key, err)
		}
		if key, _, err := s.find(Choice{ClusterID: "0000000000000001"}); err != nil || !strings.Contains(key, "/a/") {
			t.Errorf("%s, %v", key, err)
		}
	})
	t.Run("where a newer version of the suite may have written the newest", func(t *testing.T) {
		s := newShelf(t)
		s.saved("a", 1, 1)
		newer := s.saved("a", 1, 2)
		s.file(snapshot.ManifestKey(newer), []byte(`{"formatVersion": 99}`))
		if key, _, err := s.find(Choice{}); !Newer(err) || !strings.Contains(err.Error(), newer) {
			t.Errorf("%s, %v", key, err)
		}
	})
}

// verdict records the result of a restore test of a snapshot.
func (s shelf) verdict(key string, result snapshot.Result) {
	s.file(snapshot.VerdictKey(key, result), []byte("{"))
}

func TestFindChoosesTheBestSnapshotThatExists(t *testing.T) {
	t.Run("not one that failed its restore test", func(t *testing.T) {
		s := newShelf(t)
		good, bad := s.saved("a", 1, 1), s.saved("a", 1, 2)
		s.verdict(bad, snapshot.Failed)
		if key, why, err := s.find(Choice{}); err != nil || key != good || !strings.Contains(why, "1 failed their restore tests") {
			t.Errorf("%s, because %q, %v", key, why, err)
		}
		if key, why, err := s.find(Choice{Name: bad}); err != nil || key != bad || !strings.Contains(why, "it failed its restore test") {
			t.Errorf("by name: %s, because %q, %v", key, why, err)
		}
		s.verdict(good, snapshot.Failed)
		if key, _, err := s.find(Choice{}); !Final(err) || !strings.Contains(err.Error(), "all 2 snapshots that fit failed") {
			t.Errorf("all failed: %s, %v", key, err)
		}
	})
	t.Run("a newer one without a verdict, and names the newest verified one", func(t *testing.T) {
		s := newShelf(t)
		good, newest := s.saved("a", 1, 1), s.saved("a", 1, 2)
		s.verdict(good, snapshot.Passed)
		if key, why, err := s.find(Choice{}); err != nil || key != newest || !strings.Contains(why, "the newest that passed one is "+good) {
			t.Errorf("%s, because %q, %v", key, why, err)
		}
	})
	t.Run("not one from the future", func(t *testing.T) {
		s := newShelf(t)
		good := s.saved("a", 1, 1)
		s.saved("a", 1, 1_000_000)
		if key, why, err := s.find(Choice{}); err != nil || key != good || !strings.Contains(why, "1 have a time in the future") {
			t.Errorf("%s, because %q, %v", key, why, err)
		}
	})
	t.Run("not one whose manifest cannot be read", func(t *testing.T) {
		s := newShelf(t)
		good, bad := s.saved("a", 1, 1), s.saved("a", 1, 2)
		s.file(snapshot.ManifestKey(bad), []byte("{"))
		if key, why, err := s.find(Choice{}); err != nil || key != good || !strings.Contains(why, "1 manifests cannot be read") {
			t.Errorf("%s, because %q, %v", key, why, err)
		}
	})
}

func TestFindFallsBackToTheNewestThatExists(t *testing.T) {
	s := newShelf(t)
	good, named := s.saved("a", 1, 1), s.saved("a", 1, 2)
	find := func() (string, string, error) {
		found, why, err := Find(s.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: named}, By{}, Choice{Fallback: "daily/ns/a/"})
		return found.Key, why, err
	}
	if key, why, err := find(); err != nil || key != named || why != "" {
		t.Errorf("it exists: %s, because %q, %v", key, why, err)
	}
	s.verdict(named, snapshot.Failed)
	if key, why, err := find(); err != nil || key != good || !strings.Contains(why, "failed its restore test") {
		t.Errorf("it failed: %s, because %q, %v", key, why, err)
	}
	for _, name := range []string{named, snapshot.ManifestKey(named), snapshot.VerdictKey(named, snapshot.Failed)} {
		if err := os.Remove(filepath.Join(s.bucket, name)); err != nil {
			t.Fatal(err)
		}
	}
	if key, why, err := find(); err != nil || key != good || !strings.Contains(why, "does not exist; instead of it the newest of 1 snapshots") {
		t.Errorf("it is gone: %s, because %q, %v", key, why, err)
	}
}

// Kubernetes was restored from yesterday, so the status of the EtcdBackup names yesterday's snapshot. Today's data was lost without a word.
func TestFindTakesANewerSnapshotThanTheStatusNames(t *testing.T) {
	of := func(s shelf, key, backup, uid string) string {
		return s.rewrite(key, func(m *snapshot.Manifest) { m.Backup, m.Cluster.UID = backup, uid })
	}
	for what, test := range map[string]struct {
		newer func(s shelf) string
		taken bool
		told  bool // which newer one is passed over
	}{
		"of the same EtcdBackup":              {func(s shelf) string { return of(s, s.saved("a", 1, 3), "daily", "uid") }, true, false},
		"of an EtcdBackup of an earlier name": {func(s shelf) string { return of(s, s.saved("a", 1, 3), "", "uid") }, true, false},
		"with the same names and the same cluster ID, of another Kubernetes": {func(s shelf) string {
			return s.rewrite(s.saved("a", 1, 3), func(m *snapshot.Manifest) { m.Backup, m.Cluster.UID, m.Attempt = "daily", "uid", "uid-twin/1" })
		}, false, true},
		"of an EtcdCluster with the same name and cluster ID in another Kubernetes": {func(s shelf) string { return of(s, s.saved("a", 1, 3), "daily", "uid-west") }, false, true},
		"of another EtcdBackup": {func(s shelf) string { return of(s, s.saved("a", 1, 3), "hourly", "uid") }, false, false},
		"of another Kubernetes": {func(s shelf) string { return of(s, s.saved("a", 7, 3), "daily", "uid-west") }, false, false},
		"that failed its restore test": {func(s shelf) string {
			key := of(s, s.saved("a", 1, 3), "daily", "uid")
			s.verdict(key, snapshot.Failed)
			return key
		}, false, false},
		"from the future":    {func(s shelf) string { return of(s, s.saved("a", 1, 1_000_000), "daily", "uid") }, false, false},
		"of another cluster": {func(s shelf) string { return s.saved("b", 1, 3) }, false, false},
	} {
		s := newShelf(t)
		s.saved("a", 1, 1)
		named := of(s, s.saved("a", 1, 2), "daily", "uid")
		want, why := named, ""
		newer := test.newer(s)
		switch {
		case test.told:
			why = "the status of the EtcdBackup names it; "
		case test.taken:
			want, why = newer, "it is newer than the snapshot "+s.bucket+"/"+named
		}
		found, because, err := Find(s.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: named}, By{},
			Choice{Fallback: "daily/ns/a/", Of: "ns/a", Backup: "daily", UID: "uid", Prefer: "0000000000000001", Owner: ownerOf("daily", "uid-daily", "uid")})
		if err != nil || found.Key != want || !strings.HasPrefix(because, why) || why == "" && because != "" || test.told && !strings.Contains(because, newer) {
			t.Errorf("%s: %s, because %q, %v", what, found.Key, because, err)
		}
	}
}

// ownerOf returns the owner whose EtcdBackup and EtcdCluster were created long before all snapshots.
func ownerOf(backup, uid, cluster string) snapshot.Owner {
	since := dawn.AddDate(-1, 0, 0)
	return snapshot.Owner{Backup: backup, BackupUID: uid, BackupSince: since, ClusterUID: cluster, ClusterSince: since}
}

// Two Kubernetes with the same names and the same cluster ID save to one folder. The newest snapshot of the other one was restored.
func TestFindTakesNoSnapshotOfAnotherKubernetesWithTheSameNames(t *testing.T) {
	s := newShelf(t)
	written := func(hours int, backup, uid string) string {
		return s.rewrite(s.saved("a", 1, hours), func(m *snapshot.Manifest) { m.Backup, m.Attempt = backup, uid+"/1" })
	}
	written(1, "daily", "uid-daily")
	own := written(2, "hourly", "uid-hourly")
	twin := written(3, "daily", "uid-twin")
	choice := Choice{Folder: true, Of: "ns/a", Owner: ownerOf("daily", "uid-daily", "")}
	if key, why, err := s.find(choice); err != nil || key != own {
		t.Errorf("the newest of the own Kubernetes is %s, chosen is %s, because %q, %v", own, key, why, err)
	}
	choice.Name = twin
	if key, why, err := s.find(choice); err != nil || key != twin {
		t.Errorf("a person names %s, chosen is %s, because %q, %v", twin, key, why, err)
	}
}

// Without this, a restore in a minute in which the store returns 503 brings back data that is days older.
func TestFindPassesOverNoSnapshotForAFaultOfTheStore(t *testing.T) {
	s := newShelf(t)
	older, newest := s.saved("a", 1, 1), s.saved("a", 1, 49)
	store, err := file.Open(s.bucket)
	if err != nil {
		t.Fatal(err)
	}
	key, why, err := choose(t.Context(), faulty{sick: []string{snapshot.ManifestKey(newest)}}.over(store), v1beta2.RestoreSource{Bucket: s.bucket, Key: "daily/"}, Choice{Folder: true}, snapshot.Anyone, time.Now())
	if err == nil && key == older {
		t.Errorf("two days of data are given up, because %s", why)
	}
}

// A manifest of an upload whose answer was lost, or of an earlier version, does not have the time at which the member had
// begun to send. Without this, a restore "before the mistake" may bring the mistake back.
func TestBeforeTakesNoSnapshotThatMayHoldLaterWrites(t *testing.T) {
	s := newShelf(t)
	older := s.saved("a", 1, 1)
	unknown := s.saved("a", 1, 2) // begun at 2:00, captured at an unknown time
	mistake := dawn.Add(2*time.Hour + time.Minute)
	s.stored(unknown, mistake.Add(time.Second))
	key, why, err := s.find(Choice{Before: mistake.Format(time.RFC3339)})
	if err != nil || key != older || !strings.Contains(why, "or may have been") {
		t.Errorf("%s, because %q, %v", key, why, err)
	}
	s.stored(unknown, mistake) // the whole object was in the store by then
	if key, why, err = s.find(Choice{Before: mistake.Format(time.RFC3339)}); err != nil || key != unknown {
		t.Errorf("%s, because %q, %v", key, why, err)
	}
}

// A lifecycle rule has archived the manifest of a newer snapshot. Without this, no restore is possible by the EtcdBackup, although the snapshot
// of its status can be read.
func TestANewerSnapshotThatCannotBeReadStopsNoRestoreOfTheNamedOne(t *testing.T) {
	s := newShelf(t)
	named, newer := s.saved("a", 1, 1), s.saved("a", 1, 2)
	store, err := file.Open(s.bucket)
	if err != nil {
		t.Fatal(err)
	}
	c := Choice{Fallback: "daily/ns/a/", Backup: "backup", Of: "ns/a"}
	key, why, err := exact(t.Context(), archivedManifest{store, snapshot.ManifestKey(newer)}, v1beta2.RestoreSource{Bucket: s.bucket, Key: named}, c, snapshot.Signers{}, time.Now())
	if err != nil || key != named || !strings.Contains(why, "of 1 newer ones 0 were taken without quorum and 1 cannot be read") {
		t.Errorf("%s, because %q, %v", key, why, err)
	}
}

// archivedManifest refuses to read one key, as a store does with an object of an archive class.
type archivedManifest struct {
	objstore.Store
	key string
}

func (a archivedManifest) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if key == a.key {
		return nil, fs.ErrPermission
	}
	return a.Store.Get(ctx, key)
}
