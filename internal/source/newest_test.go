package source

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

func (s shelf) newest(c Choice, without ...string) (Point, error) {
	c.Folder = true
	return FindNewest(s.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: "daily/"}, By{}, c, without...)
}

// A standby that begins with an old snapshot replays for hours what a newer one has.
func TestAStandbyBeginsWithTheNewestSnapshotOfTheArchive(t *testing.T) {
	s := newShelf(t)
	first := s.saved("a", 1, 1)
	s.archived(first, 9)
	p, err := s.newest(Choice{})
	if err != nil || p.Base.Key != first || p.Timeline != 1 || !strings.HasSuffix(p.Root, "/ns/a/") {
		t.Fatalf("the only base: %s of timeline %d below %s, %v", p.Base.Key, p.Timeline, p.Root, err)
	}
	later := s.saved("a", 2, 3) // restored: another cluster ID, and another timeline
	s.archived(later, 4)
	s.verdict(s.saved("a", 2, 5), snapshot.Failed)
	if p, err := s.newest(Choice{}); err != nil || p.Base.Key != later || p.Timeline != 2 {
		t.Errorf("%s of timeline %d, %v: want the snapshot of the restored cluster", p.Base.Key, p.Timeline, err)
	}
	// Revision 2 of the earlier timeline has other data than that of the newest one.
	if p, err := s.newest(Choice{}, later); !archive.IsRefusal(err) {
		t.Errorf("without the base of the newest timeline: %s, %v", p.Base.Key, err)
	}
	if p, err := s.newest(Choice{ClusterID: "0000000000000001"}); err != nil || p.Base.Key != first {
		t.Errorf("of a cluster ID: %s, %v", p.Base.Key, err)
	}
}

func TestAStandbyIsRefusedWithoutAnArchive(t *testing.T) {
	s := newShelf(t)
	s.saved("a", 1, 1)
	if p, err := s.newest(Choice{}); !archive.IsRefusal(err) {
		t.Errorf("%+v, %v", p.Base, err)
	}
}

// The folder has snapshots of a second EtcdCluster with the same name. A standby of the first one must not continue with the data of the second.
func TestAStandbyFollowsOneEtcdClusterOnly(t *testing.T) {
	s := newShelf(t)
	first := s.savedBy("uid-1", 1, 1)
	s.archived(first, 9)
	s.archived(s.savedBy("uid-2", 2, 3), 4)
	if p, err := s.newest(Choice{UID: "uid-1"}); err != nil || p.Base.Key != first {
		t.Errorf("%s, %v", p.Base.Key, err)
	}
}
