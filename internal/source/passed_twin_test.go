package source

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Two Kubernetes with the same names and the same cluster ID write into one folder, and the restore names the cluster ID. The store answers 503 for the
// only own snapshot before the point (or it is cold), so readBase passes over it. Then no own base is left, and the snapshot of the twin becomes the
// base of the own timeline: the restore mixes two clusters.
func TestASnapshotThatIsPassedOverBringsNoTwin(t *testing.T) {
	s := newShelf(t)
	of := func(key, uid string) string {
		return s.rewrite(key, func(m *snapshot.Manifest) { m.Backup, m.Cluster.UID, m.Attempt = "daily", uid, uid+"-backup/1" })
	}
	own := of(s.saved("a", 2, 0), "west")
	twin := of(s.savedAt("a", 2, dawn.Add(4*time.Minute), 4, 4), "east")
	s.timeline(1, own, 2, 9, "")
	c := Choice{Folder: true, Of: "ns/a", UID: "west", Prefer: "0000000000000002", Owner: ownerOf("daily", "west-backup", "west"), ClusterID: "0000000000000002", Revision: 8}
	src := v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: "daily/"}
	if p, err := FindPoint(t.Context(), src, By{}, c, archive.Progress{}); err != nil || p.Base.Key != own {
		t.Fatalf("from %s: %v", p.Base.Key, err)
	}
	p, err := FindPoint(t.Context(), src, By{}, c, archive.Progress{}, own)
	if err == nil && p.Base.Key == twin {
		t.Errorf("revision 8 of the own timeline %d is replayed on the snapshot of another Kubernetes: %s", p.Timeline, p.Because())
	} else {
		t.Log(err)
	}
}
