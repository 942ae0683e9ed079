package source

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// A standby Kubernetes has the same names, with older objects than the snapshots of the lost one. The status asked for select.clusterID, and then
// denied that the snapshots exist.
func TestAStandbyKubernetesRestoresTheSnapshotsOfTheLostOneByTheClusterID(t *testing.T) {
	s := newShelf(t)
	last := s.rewrite(s.saved("a", 2, 2), func(m *snapshot.Manifest) { m.Backup, m.Cluster.UID, m.Attempt = "daily", "e2", "east-e2/1" })
	c := Choice{Of: "ns/a", UID: "west", Owner: ownerOf("daily", "west-backup", "west")}
	if key, why, err := s.find(c); err == nil || !strings.Contains(err.Error(), last) || !strings.Contains(err.Error(), "etcdBackup.snapshot") {
		t.Errorf("without select.clusterID: %s, because %q, %v", key, why, err)
	}
	c.ClusterID = "0000000000000002"
	if key, why, err := s.find(c); err != nil || key != last {
		t.Errorf("by the cluster ID: %s, because %q, %v", key, why, err)
	}
}

// A person copied the folder of the series after the namespace was renamed.
func TestTheStatusDoesNotDenySnapshotsThatNameAnotherNamespace(t *testing.T) {
	s := newShelf(t)
	key := s.rewrite(s.saved("a", 1, 1), func(m *snapshot.Manifest) { m.Cluster.Namespace = "old" })
	if _, _, err := s.find(Choice{Of: "ns/a"}); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "backupStorageType") {
		t.Error(err)
	}
}

// The etcd of Kubernetes is restored from a backup. The EtcdBackup was created again after that backup, so all later snapshots have another UID. An
// older one was restored without a word.
func TestARolledBackKubernetesSaysWhichNewerSnapshotsItPassesOver(t *testing.T) {
	s := newShelf(t)
	of := func(hours int, uid string) string {
		return s.rewrite(s.saved("a", 1, hours), func(m *snapshot.Manifest) { m.Backup, m.Cluster.UID, m.Attempt = "daily", "uid", uid+"/1" })
	}
	named, newest := of(1, "u0"), of(49, "u1")
	found, why, err := Find(s.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: named}, By{},
		Choice{Fallback: "daily/ns/a/", Of: "ns/a", Backup: "daily", UID: "uid", Prefer: "0000000000000001", Owner: ownerOf("daily", "u0", "uid")})
	if err != nil || found.Key != named || !strings.Contains(why, newest) {
		t.Errorf("%s, because %q, %v", found.Key, why, err)
	}
}
