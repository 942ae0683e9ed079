package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// rewrite changes the manifest of a snapshot.
func (s shelf) rewrite(key string, change func(*snapshot.Manifest)) string {
	s.Helper()
	store, err := open(s.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket}, By{})
	if err != nil {
		s.Fatal(err)
	}
	m, err := snapshot.ManifestOf(s.Context(), store, key, snapshot.Anyone)
	if err != nil {
		s.Fatal(err)
	}
	change(m)
	text, err := m.Encode()
	if err != nil {
		s.Fatal(err)
	}
	s.file(snapshot.ManifestKey(key), text)
	return key
}

// savedBy writes a snapshot of the EtcdCluster with that UID. Its name is always the same.
func (s shelf) savedBy(uid string, id uint64, hours int) string {
	return s.rewrite(s.saved("a", id, hours), func(m *snapshot.Manifest) { m.Cluster.UID = uid })
}

func withoutQuorum(m *snapshot.Manifest) { m.NoQuorum = true }

// Two Kubernetes clusters that share a bucket and give their EtcdClusters the same names.
func TestFindTakesNoSnapshotOfAnotherEtcdClusterWithTheSameName(t *testing.T) {
	s := newShelf(t)
	s.savedBy("uid-east", 1, 1)
	east := s.savedBy("uid-east", 3, 3)
	s.savedBy("uid-west", 2, 2)
	west := s.savedBy("uid-west", 2, 4)
	for name, test := range map[string]struct {
		choice Choice
		want   string
	}{
		"of the EtcdCluster that is restored":                                       {Choice{UID: "uid-east"}, east},
		"of the cluster that the EtcdBackup saves, also if another one is restored": {Choice{UID: "uid-west", Prefer: "0000000000000001"}, east},
		"of a cluster ID that a person has named":                                   {Choice{UID: "uid-east", ClusterID: "0000000000000002"}, west},
	} {
		t.Run(name, func(t *testing.T) {
			if key, why, err := s.find(test.choice); err != nil || key != test.want || test.choice.ClusterID == "" && !strings.Contains(why, "2 are of other EtcdClusters with the same name") {
				t.Errorf("%s, because %q, %v", key, why, err)
			}
		})
	}
	t.Run("and refuses if it is neither, and names the candidates", func(t *testing.T) {
		key, _, err := s.find(Choice{UID: "uid-new"})
		if !errors.Is(err, ErrAmbiguous) {
			t.Fatalf("%s, %v", key, err)
		}
		for _, says := range []string{"0000000000000002 (newest snapshot taken at 2026-01-02T07:00:00Z, UID of the EtcdCluster uid-west)", "0000000000000003", "0000000000000001", "select.clusterID"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("the message lacks %q: %v", says, err)
			}
		}
	})
	t.Run("and takes that of the only EtcdCluster after a disaster", func(t *testing.T) {
		s := newShelf(t)
		s.savedBy("uid-east", 1, 1)
		newest := s.savedBy("uid-east", 3, 3)
		if key, _, err := s.find(Choice{UID: "uid-new"}); err != nil || key != newest {
			t.Errorf("%s, %v", key, err)
		}
	})
	t.Run("and does not fall back to it", func(t *testing.T) {
		gone := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 3}.Key(dawn.Add(99), 9)
		found, why, err := Find(t.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: gone}, By{},
			Choice{Fallback: "daily/ns/a/", Prefer: "0000000000000003"})
		if err != nil || found.Key != east {
			t.Errorf("%s, because %q, %v", found.Key, why, err)
		}
	})
}

func TestFindTakesASnapshotWithoutQuorumOnlyIfAsked(t *testing.T) {
	s := newShelf(t)
	good := s.saved("a", 1, 1)
	bad := s.rewrite(s.saved("a", 1, 2), withoutQuorum)
	if key, why, err := s.find(Choice{}); err != nil || key != good || !strings.Contains(why, "1 newer ones were taken without quorum") {
		t.Errorf("%s, because %q, %v", key, why, err)
	}
	if key, _, err := s.find(Choice{NoQuorum: true}); err != nil || key != bad {
		t.Errorf("if asked: %s, %v", key, err)
	}
	if key, _, err := s.find(Choice{Name: bad}); err != nil || key != bad {
		t.Errorf("by name: %s, %v", key, err)
	}
	found, why, err := Find(t.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: bad}, By{}, Choice{Fallback: "daily/ns/a/"})
	if err != nil || found.Key != good || !strings.Contains(why, "was taken without quorum; instead of it") {
		t.Errorf("the newest of an EtcdBackup: %s, because %q, %v", found.Key, why, err)
	}
	s.rewrite(good, withoutQuorum)
	if key, _, err := s.find(Choice{}); !Final(err) || !strings.Contains(err.Error(), "select.includeNoQuorum") {
		t.Errorf("there is no other: %s, %v", key, err)
	}
}

func TestFindTakesASafetySnapshotOnlyFromItsOwnFolder(t *testing.T) {
	s := newShelf(t)
	good, later := s.saved("a", 1, 1), s.saved("a", 1, 2)
	safe := strings.Replace(later, "daily/", "daily/safety-snapshots/", 1)
	for _, suffix := range []string{"", ".json"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(s.bucket, safe)), 0o700), os.Rename(filepath.Join(s.bucket, later+suffix), filepath.Join(s.bucket, safe+suffix))); err != nil {
			t.Fatal(err)
		}
	}
	if key, _, err := s.find(Choice{}); err != nil || key != good {
		t.Errorf("%s, %v", key, err)
	}
	found, _, err := Find(t.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: "daily/safety-snapshots/"}, By{}, Choice{Folder: true})
	if err != nil || found.Key != safe {
		t.Errorf("from the folder itself: %s, %v", found.Key, err)
	}
}
