package source

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// The cluster loses its quorum at revision 100, and goes on from a member that has only 40 or 95. It keeps its ID, and its archive goes on in
// timeline 2. One snapshot of the lost history with a higher revision hid all later snapshots, so the lost history was restored.
func TestASnapshotOfALostHistoryHidesNoBaseOfTheNewestTimeline(t *testing.T) {
	for name, c := range map[string]struct {
		lost        bool // there is a snapshot of the lost history after the target
		from, asked int64
		recovery    string
		choice      Choice
	}{
		"without a snapshot at revision 100": {false, 40, 50, "r", Choice{}},
		"with one":                           {true, 40, 50, "r", Choice{}},
		"with one, five revisions were lost": {true, 95, 97, "r", Choice{}},
		"with one, of the EtcdBackup":        {true, 40, 50, "r", Choice{Of: "ns/a", Prefer: "0000000000000001"}},
		"with one, by the cluster ID":        {true, 40, 50, "r", Choice{ClusterID: "0000000000000001"}},
		"with one, etcdEndpoints":            {true, 40, 50, "", Choice{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			first := s.savedAt("a", 1, dawn, 2, 2)
			s.timeline(1, first, 2, 100, "")
			if c.lost {
				s.savedAt("a", 1, dawn.Add(3*time.Hour), 100, 100)
			}
			base := s.savedAt("a", 1, dawn.Add(5*time.Hour), c.from, c.from)
			s.rewrite(base, func(m *snapshot.Manifest) { m.Recovery = c.recovery })
			s.timeline(2, base, c.from, 120, c.recovery)
			choice := c.choice
			choice.Revision = c.asked
			p, err := s.point(choice, archive.Progress{})
			if err == nil && p.Timeline != 2 {
				t.Errorf("revision %d is restored from timeline %d, the history that was lost %s before: %s", c.asked, p.Timeline, 5*time.Hour, p.Because())
			}
		})
	}
}

// The EtcdCluster was deleted and created again. The archive of the present one ends with revision 100, because the cluster was lost before the
// next segment was stored. Revision 105, which a client has seen, was taken from the deleted EtcdCluster without a word.
func TestARevisionAfterTheEndOfTheArchiveIsNotThatOfADeletedEtcdCluster(t *testing.T) {
	s := newShelf(t)
	deleted, own := s.savedBy("deleted", 1, 1), s.savedBy("present", 2, 30)
	s.timeline(1, deleted, 2, 200, "")
	s.timeline(2, own, 2, 100, "")
	for name, c := range map[string]Choice{
		"in the archive":     {Revision: 95, Of: "ns/a", Prefer: "0000000000000002", UID: "present"},
		"5 after its end":    {Revision: 105, Of: "ns/a", Prefer: "0000000000000002", UID: "present"},
		"a time after it":    {Time: dawn.Add(33 * time.Hour).Format(time.RFC3339), Of: "ns/a", Prefer: "0000000000000002", UID: "present"},
		"with its clusterID": {Revision: 105, Of: "ns/a", Prefer: "0000000000000002", UID: "present", ClusterID: "0000000000000002"},
	} {
		p, err := s.point(c, archive.Progress{})
		if err == nil && p.Manifest.Cluster.UID != "present" {
			t.Errorf("%s: the data of EtcdCluster %q is restored: %s", name, p.Manifest.Cluster.UID, p.Because())
		}
		if c.Revision == 105 && c.ClusterID == "" && (err == nil || !strings.Contains(err.Error(), "select.clusterID")) {
			t.Errorf("%s: the refusal does not say how to restore the data of the deleted one: %v", name, err)
		}
	}
}

// Two Kubernetes with the same names and the same cluster ID use one folder. The replay began with a snapshot of the west and went on with the
// segments of the east, so the data of two clusters was mixed.
func TestAPointDoesNotBeginWithASnapshotOfAnotherKubernetes(t *testing.T) {
	s := newShelf(t)
	of := func(key, uid string, at time.Time) string {
		return s.rewrite(key, func(m *snapshot.Manifest) {
			m.Backup, m.Cluster.UID, m.Attempt, m.CapturedAt = "daily", uid, "backup-"+uid+"/"+m.Cluster.ID, at
		})
	}
	east := of(s.savedAt("a", 1, dawn, 2, 2), "east", dawn)
	s.timeline(1, east, 2, 100, "")
	at := dawn.Add(30 * time.Minute)
	west := of(s.savedAt("a", 1, at, 50, 50), "west", at)
	p, err := s.point(Choice{Revision: 60, Of: "ns/a", Prefer: "0000000000000001", UID: "east",
		Owner: snapshot.Owner{Namespace: "ns", Cluster: "a", ClusterUID: "east", ClusterSince: dawn, Backup: "daily", BackupUID: "backup-east", BackupSince: dawn}}, archive.Progress{})
	if err != nil || p.Base.Key != east {
		t.Errorf("the base is %s, and those of the east and the west are %s and %s (%v)", p.Base.Key, east, west, err)
	}
}
