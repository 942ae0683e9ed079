package source

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// forge makes a snapshot one of a tenant, who has named the series of another namespace in the path of his one-shot.
func (s shelf) forge(key string) string {
	s.Helper()
	return s.rewrite(key, func(m *snapshot.Manifest) { m.Cluster.Namespace, m.Cluster.UID = "tenant", "uid-tenant" })
}

// nested copies the snapshots of a cluster into the folder of another cluster's series, as an EtcdBackup of a tenant with that path does.
func (s shelf) nested(hours int) string {
	s.Helper()
	series := snapshot.Series{Folder: "daily/ns/a", Namespace: "tenant", Cluster: "a", ClusterID: 9}
	key := series.Key(dawn.Add(time.Duration(hours)*time.Hour), 9)
	m := snapshot.Manifest{
		FormatVersion: 1, Revision: 2, Keys: 1, Size: int64(len(s.content)), SHA256: strings.Repeat("ab", 32), CreatedAt: dawn,
		Cluster: snapshot.Cluster{Namespace: "tenant", Name: "a", ID: series.ID()},
	}
	text, err := m.Encode()
	if err != nil {
		s.Fatal(err)
	}
	s.file(key, s.content)
	s.file(snapshot.ManifestKey(key), text)
	return key
}

func TestFindNeverTakesAForgedSnapshot(t *testing.T) {
	for name, forge := range map[string]func(s shelf){
		"in the series":                         func(s shelf) { s.forge(s.saved("a", 1, 5)) },
		"under a cluster ID of its own":         func(s shelf) { s.forge(s.saved("a", 7, 5)) },
		"under the name of another cluster":     func(s shelf) { s.forge(s.saved("b", 8, 5)) },
		"in a folder below that of the cluster": func(s shelf) { s.nested(5) },
	} {
		s := newShelf(t)
		s.savedBy("uid-a", 1, 1)
		good := s.savedBy("uid-a", 1, 2)
		forge(s)
		for _, c := range []Choice{{}, {Of: "ns/a"}, {Of: "ns/a", UID: "uid-a"}} {
			if key, why, err := s.find(c); err != nil || key != good {
				t.Errorf("%s: %s, because %q, %v", name, key, why, err)
			}
		}
		s.archived(good, 9)
		if p, err := s.point(Choice{Revision: 5}, archive.Progress{}); err != nil || p.Choice.Base.Key != good {
			t.Errorf("%s: revision 5 from %s, %v", name, p.Choice.Base.Key, err)
		}
	}
}

// The victim has no snapshot yet, or lost its own. A restore from its EtcdBackup must not take the one of the tenant.
func TestARestoreFromAnEtcdBackupTakesNoSnapshotOfATenant(t *testing.T) {
	s := newShelf(t)
	s.nested(5)
	if key, _, err := s.find(Choice{Of: "ns/a"}); err == nil {
		t.Errorf("it takes %s", key)
	}
}

// A listing omitted the snapshot that the status of the EtcdBackup names. An older one was restored in its place.
func TestTheSnapshotOfTheStatusIsRestoredAlthoughAListingOmitsIt(t *testing.T) {
	m := objstoretest.NewMemory()
	key := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 1}.Key(dawn, 1)
	for _, name := range []string{key, snapshot.ManifestKey(key)} {
		if err := m.Put(t.Context(), name, objstore.NewMetadata([]byte("{}"))); err != nil {
			t.Fatal(err)
		}
	}
	m.Set(key, objstoretest.Omitted)
	got, _, err := exact(t.Context(), m, v1beta2.RestoreSource{Bucket: "b", Key: key}, Choice{Fallback: "daily/ns/a/"}, snapshot.Anyone, dawn)
	if err != nil || got != key {
		t.Errorf("%s, %v", got, err)
	}
}

// Two EtcdClusters with one name have archived into one folder. A snapshot was refused as ambiguous, and a point was taken from the newest
// timeline, whoever's it was.
func TestAPointIsRefusedIfItMayBeOfSeveralEtcdClusters(t *testing.T) {
	s := newShelf(t)
	east, west := s.savedBy("uid-east", 1, 1), s.savedBy("uid-west", 2, 2)
	s.archived(east, 200)
	s.archived(west, 200)
	at := dawn.Add(4 * time.Hour).Format(time.RFC3339)
	for _, c := range []Choice{{Revision: 20}, {Time: at}, {Time: at, UID: "uid-new"}} {
		if p, err := s.point(c, archive.Progress{}); !errors.Is(err, ErrAmbiguous) || !strings.Contains(err.Error(), "uid-west") {
			t.Errorf("%+v: from %s, error %v", c, p.Choice.Base.Key, err)
		}
	}
	for want, c := range map[string]Choice{east: {Revision: 20, ClusterID: "0000000000000001"}, west: {Revision: 20, UID: "uid-west"}} {
		if p, err := s.point(c, archive.Progress{}); err != nil || p.Choice.Base.Key != want {
			t.Errorf("%+v: from %s, error %v", c, p.Choice.Base.Key, err)
		}
	}
	// The other Kubernetes began later, so its history is not what the own cluster had before.
	late := dawn.Add(4*time.Hour + 40*time.Minute).Format(time.RFC3339)
	if p, err := s.point(Choice{Time: late, Prefer: "0000000000000001"}, archive.Progress{}); !archive.IsRefusal(err) {
		t.Errorf("a time after the own archive comes from %s, error %v", p.Choice.Base.Key, err)
	}
}

// The newest snapshot before the point is damaged. The one before it reaches the point, too.
func TestAnEarlierSnapshotReachesThePointIfALaterOneIsDamaged(t *testing.T) {
	s := newShelf(t)
	first := s.saved("a", 1, 1)
	s.archived(first, 9)
	second := s.savedAt("a", 1, dawn.Add(time.Hour+4*time.Minute), 4, 4)
	for want, without := range map[string][]string{second: nil, first: {second}} {
		p, err := FindPoint(t.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: "daily/"}, By{},
			Choice{Folder: true, Revision: 8}, archive.Progress{}, without...)
		if err != nil || p.Choice.Base.Key != want {
			t.Errorf("without %q: from %s, want %s; error %v", without, p.Choice.Base.Key, want, err)
		}
	}
}

// A lifecycle rule moves old objects to an archive, manifests as well. One of them ended each restore of a point.
func TestAColdManifestEndsNoChoice(t *testing.T) {
	for position := range 4 {
		m := objstoretest.NewMemory()
		var items []catalog.Item
		for i := range 4 {
			key := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 1}.Key(dawn.Add(time.Duration(i)*time.Hour), 1)
			manifest := snapshot.Manifest{FormatVersion: 1, Size: 1, SHA256: strings.Repeat("ab", 32), CreatedAt: dawn}
			text, err := manifest.Encode()
			if err == nil {
				err = m.Put(t.Context(), snapshot.ManifestKey(key), objstore.NewMetadata(text))
			}
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, catalog.Item{Key: key, Size: 1})
		}
		m.Set(snapshot.ManifestKey(items[position].Key), objstoretest.Cold)
		known := catalog.Known{}
		if err := readAll(t.Context(), m, known, items, snapshot.Anyone); err != nil {
			t.Errorf("manifest %d is cold: %v", position, err)
		}
		for i, item := range items {
			if read := known[item.Key].Err == nil; read != (i != position) {
				t.Errorf("manifest %d is cold: number %d was read: %v", position, i, read)
			}
		}
	}
}

// The store has lost one manifest for good. It is that of an old snapshot, and no point needs it. A cold one ends no restore, either.
func TestOneLostManifestEndsNoRestoreToAPoint(t *testing.T) {
	m := objstoretest.NewMemory()
	series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 1}
	var items []catalog.Item
	for i := range 3 {
		item := catalog.Item{Key: series.Key(dawn.Add(time.Duration(i)*time.Hour), int64(i)), Size: 1}
		text, err := snapshot.Manifest{FormatVersion: 1, Size: 1, SHA256: strings.Repeat("ab", 32), CreatedAt: dawn}.Encode()
		if err == nil {
			err = m.Put(t.Context(), snapshot.ManifestKey(item.Key), objstore.NewMetadata(text))
		}
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	m.Set(snapshot.ManifestKey(items[0].Key), objstoretest.Lost)
	known := catalog.Known{}
	unread, err := readEach(t.Context(), m, known, items, snapshot.Anyone)
	if err != nil || unread == nil || known[items[1].Key].Err != nil || known[items[2].Key].Err != nil {
		t.Errorf("the others are read: %v and %v; the store does not return %v; %v", known[items[1].Key].Err, known[items[2].Key].Err, unread, err)
	}
}
