package source

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// A standby Kubernetes with the same names restores a point of the lost one. The message said to wait for the next snapshot. There will be none,
// because the cluster that is saved is lost.
func TestAPointOfAnotherKubernetesNamesTheWayToRestoreIt(t *testing.T) {
	for name, c := range map[string]Choice{"a revision": {Revision: 5}, "a time": {Time: dawn.Format("2006-01-02T15:04:05Z07:00")}} {
		s := newShelf(t)
		key := s.rewrite(s.saved("a", 2, 0), func(m *snapshot.Manifest) { m.Backup, m.Cluster.UID, m.Attempt = "daily", "east", "east-backup/1" })
		s.timeline(1, key, 2, 9, "")
		c.Of, c.UID, c.Owner = "ns/a", "west", ownerOf("daily", "west-backup", "west")
		_, err := s.point(c, archive.Progress{})
		if !archive.IsRefusal(err) || !strings.Contains(err.Error(), "select.clusterID") || !strings.Contains(err.Error(), "0000000000000002") || strings.Contains(err.Error(), "wait") {
			t.Errorf("%s: %v", name, err)
		}
		c.ClusterID = "0000000000000002"
		if p, err := s.point(c, archive.Progress{}); err != nil || p.Base.Key != key {
			t.Errorf("%s, by the cluster ID: %s, %v", name, p.Base.Key, err)
		}
	}
}
