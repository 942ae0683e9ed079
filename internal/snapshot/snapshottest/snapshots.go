package snapshottest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// Own names the EtcdBackup in a manifest.
func (b Bucket) Own(t *testing.T, key, backup string) {
	t.Helper()
	m := MustManifest(t, b, key)
	m.Backup = backup
	content, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b.Remove(snapshot.ManifestKey(key))
	b.Write(snapshot.ManifestKey(key), content)
}

// Theirs is the series of ours in the second location.
var Theirs = snapshot.Series{Folder: "second/folder", Namespace: "ns", Cluster: "example", ClusterID: 1}

// Place puts a snapshot into the store, a number of minutes after noon.
func (b Bucket) Place(minutes int, verdict snapshot.Result) string {
	b.T.Helper()
	e := Entry(Ours, minutes, int64(1000+minutes))
	content := bytes.Repeat([]byte(e.Key), 50)
	sum := sha256.Sum256(content)
	e.Manifest.Size, e.Manifest.SHA256, e.Manifest.Cluster.ID = int64(len(content)), hex.EncodeToString(sum[:]), "0000000000000001"
	encoded, err := e.Manifest.Encode()
	if err != nil {
		b.T.Fatal(err)
	}
	b.Write(e.Key, content)
	b.Write(snapshot.ManifestKey(e.Key), encoded)
	if verdict != "" {
		if err := snapshot.WriteVerdict(b.T.Context(), b, e.Key, snapshot.Verdict{Result: verdict, Time: Noon, SHA256: e.Manifest.SHA256}); err != nil {
			b.T.Fatal(err)
		}
	}
	return e.Key
}

// MustManifest returns the manifest of a snapshot that has one.
func MustManifest(t *testing.T, b Bucket, key string) snapshot.Manifest {
	t.Helper()
	m, err := snapshot.ReadManifest(t.Context(), b, key, snapshot.Anyone)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Replace replaces an object.
func (b Bucket) Replace(key string, content []byte) {
	b.T.Helper()
	if err := b.Delete(b.T.Context(), key); err != nil {
		b.T.Fatal(err)
	}
	b.Write(key, content)
}

// Noon is the time of the snapshots of tests.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Commit writes an entry as Save does.
func (b Bucket) Commit(e catalog.Entry) {
	b.T.Helper()
	content, err := e.Manifest.Encode()
	if err != nil {
		b.T.Fatal(err)
	}
	b.Write(e.Key, make([]byte, e.Manifest.Size))
	b.Write(snapshot.ManifestKey(e.Key), content)
}

// Manifest returns a valid manifest with a change.
func Manifest(change func(*snapshot.Manifest)) snapshot.Manifest {
	m := snapshot.Manifest{
		FormatVersion: 1,
		Cluster:       snapshot.Cluster{Namespace: "ns", Name: "example", UID: "3b1f", ID: "0000000000000001"},
		EtcdVersion:   "3.6.16", StorageVersion: "3.6.0",
		Revision: 42, Keys: 7, Size: 20512, SHA256: strings.Repeat("ab", 32), Hash: "0badcafe",
		CreatedAt: Noon, Attempt: "9c2e", Tool: "etcd-operator v0.1.0",
	}
	if change != nil {
		change(&m)
	}
	return m
}

// OwnerOf is the owner of the snapshots of an EtcdBackup that was created at a time.
func OwnerOf(uid string, since time.Time) snapshot.Owner {
	return snapshot.Owner{Namespace: "ns", Cluster: "example", ClusterUID: "cluster-" + uid, ClusterSince: since, Backup: "b", BackupUID: uid, BackupSince: since}
}

// EntryOf returns a snapshot of an EtcdBackup.
func EntryOf(uid string, minutes int) catalog.Entry {
	e := Entry(Ours, minutes, int64(minutes))
	e.Manifest.Backup, e.Manifest.Attempt, e.Manifest.Cluster.UID = "b", uid+"/0000000000000001", "cluster-"+uid
	return e
}

// SeriesInMemory is a series in a store in the memory: a snapshot each hour.
func SeriesInMemory(t *testing.T, hours int) (*objstoretest.Memory, []string) {
	t.Helper()
	m := objstoretest.NewMemory()
	var keys []string
	for hour := range hours {
		m.Now = func() time.Time { return Noon.Add(time.Duration(hour) * time.Hour) }
		e := EntryOf("uid-1", hour*60)
		e.Manifest.Size, e.Manifest.SHA256 = 1, SumOfX
		content, err := e.Manifest.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for name, body := range map[string]io.Reader{e.Key: strings.NewReader("x"), snapshot.ManifestKey(e.Key): objstore.NewMetadata(content)} {
			if err := m.Put(t.Context(), name, body); err != nil {
				t.Fatal(err)
			}
		}
		keys = append(keys, e.Key)
	}
	return m, keys
}

// SumOfX is the SHA-256 of "x".
const SumOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

// Ours is a series.
var Ours = snapshot.Series{Folder: "f", Namespace: "ns", Cluster: "example", ClusterID: 1}

// Entry returns a snapshot of a series, a number of minutes after noon.
func Entry(series snapshot.Series, minutes int, revision int64) catalog.Entry {
	at := Noon.Add(time.Duration(minutes) * time.Minute)
	return catalog.Entry{Key: series.Key(at, revision), Manifest: Manifest(func(m *snapshot.Manifest) {
		m.CreatedAt, m.Revision = at, revision
	})}
}

// Key is a name that a user has chosen for a snapshot.
const Key = "backups/before upgrade 100%.db"

// Scanned returns the only item of a store.
func Scanned(t *testing.T, store Bucket) catalog.Item {
	t.Helper()
	index, err := catalog.Scan(t.Context(), store, "")
	if err != nil || len(index.Items) != 1 {
		t.Fatalf("%+v, %v", index.Items, err)
	}
	return index.Items[0]
}
