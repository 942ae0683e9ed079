package source

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// The cluster was restored at revision 40 (cluster ID 3) and was not archived since. Its snapshots show that it had revision 115. The oldest of
// them after 115 cannot be a base. A user who asks for revision 115 must not get that of the history before the restore.
func TestASnapshotThatIsNoBaseShowsThatALaterClusterHadARevision(t *testing.T) {
	for name, spoil := range map[string]func(s shelf, key string){
		"nothing": func(shelf, string) {},
		"the next one was taken without quorum": func(s shelf, key string) {
			s.rewrite(key, func(m *snapshot.Manifest) { m.NoQuorum = true })
		},
		"the manifest of the next one is damaged": func(s shelf, key string) {
			s.file(snapshot.ManifestKey(key), []byte("{"))
		},
		"the next one failed its restore test": func(s shelf, key string) { s.verdict(key, snapshot.Failed) },
	} {
		for _, later := range []bool{true, false} { // another good snapshot follows
			t.Run(name, func(t *testing.T) {
				s := newShelf(t)
				of := func(key string) string {
					return s.rewrite(key, func(m *snapshot.Manifest) { m.Cluster.UID = "present" })
				}
				s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2)), 2, 200, "")
				of(s.savedAt("a", 3, dawn.Add(5*time.Hour), 40, 40))
				spoil(s, of(s.savedAt("a", 3, dawn.Add(9*time.Hour), 130, 130)))
				if later {
					of(s.savedAt("a", 3, dawn.Add(10*time.Hour), 150, 150))
				}
				p, err := s.point(Choice{Prefer: "0000000000000003", Revision: 115, Of: "ns/a", UID: "present"}, archive.Progress{})
				if err == nil {
					t.Errorf("good snapshot at 150: %v: restored from timeline %d of cluster ID %s: %s", later, p.Timeline, p.Manifest.Cluster.ID, p.Because())
				}
			})
		}
	}
}

// Every snapshot of the restored cluster failed its restore test. Nothing of it can be restored, but it had revision 115.
func TestALaterClusterWithoutAnyBaseHidesWhatItHad(t *testing.T) {
	s := newShelf(t)
	of := func(key string) string {
		return s.rewrite(key, func(m *snapshot.Manifest) { m.Cluster.UID = "present" })
	}
	s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2)), 2, 200, "")
	for hours, revision := range map[int]int64{5: 40, 9: 130} {
		s.verdict(of(s.savedAt("a", 3, dawn.Add(time.Duration(hours)*time.Hour), revision, revision)), snapshot.Failed)
	}
	p, err := s.point(Choice{Prefer: "0000000000000003", Revision: 115, Of: "ns/a", UID: "present"}, archive.Progress{})
	if err == nil {
		t.Errorf("restored from timeline %d of cluster ID %s: %s", p.Timeline, p.Manifest.Cluster.ID, p.Because())
	}
}

// A snapshot of the cluster before the restore was taken while the clock was ahead by a day. The archive of the present cluster has all revisions
// since the restore, and a user must be able to restore each of them by its number.
func TestASnapshotOfAClockThatWasAheadHidesNoPresentTimeline(t *testing.T) {
	s := newShelf(t)
	of := func(key string) string {
		return s.rewrite(key, func(m *snapshot.Manifest) { m.Cluster.UID = "present" })
	}
	s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2)), 2, 200, "")
	ahead := of(s.savedAt("a", 1, dawn.Add(28*time.Hour), 190, 190))
	s.captured(ahead, dawn.Add(28*time.Hour))
	s.stored(ahead, dawn.Add(4*time.Hour))
	s.timeline(2, of(s.savedAt("a", 3, dawn.Add(5*time.Hour), 40, 40)), 40, 150, "")
	p, err := s.point(Choice{Prefer: "0000000000000003", Revision: 115, Of: "ns/a", UID: "present"}, archive.Progress{})
	if err != nil || p.Timeline != 2 {
		t.Errorf("timeline %d: %v", p.Timeline, err)
	}
}

// The archive was switched off. Then the quorum was lost and recovered at revision 150, which keeps the cluster ID. Two snapshots of the recovered
// history show that it had revision 180. A user who asks for revision 180 must not get the lost history.
func TestARevisionThatARecoveredClusterHadIsNotOfTheLostHistory(t *testing.T) {
	for name, test := range map[string]struct{ again, failed bool }{
		"never archived since": {}, "archived again from 210": {again: true}, "its snapshots failed their restore tests": {failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			of := func(key, recovery string) string {
				return s.rewrite(key, func(m *snapshot.Manifest) { m.Cluster.UID, m.Recovery = "present", recovery })
			}
			s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2), ""), 2, 200, "")
			first := of(s.savedAt("a", 1, dawn.Add(5*time.Hour), 160, 160), "r")
			last := of(s.savedAt("a", 1, dawn.Add(9*time.Hour), 210, 210), "r")
			if test.failed {
				s.verdict(first, snapshot.Failed)
				s.verdict(last, snapshot.Failed)
			}
			if test.again {
				s.timeline(2, last, 210, 220, "r")
			}
			p, err := s.point(Choice{Prefer: "0000000000000001", Revision: 180, Of: "ns/a", UID: "present"}, archive.Progress{})
			if err == nil {
				t.Errorf("restored from timeline %d, base %s: %s", p.Timeline, p.Base.Key, p.Because())
			}
		})
	}
}

// The archive of the lost history began while the clock of the operator was ahead by a day. The cluster was restored at revision 40 and not archived
// since. Its two snapshots, which the store received after that beginning, show that it had revision 115. The lost history must not be restored.
func TestATimelineThatBeganWithAClockThatWasAheadIsNotNewerThanALaterCluster(t *testing.T) {
	s := newShelf(t)
	of := func(key string, stored time.Time) string {
		key = s.rewrite(key, func(m *snapshot.Manifest) { m.Cluster.UID, m.CapturedAt = "present", m.CreatedAt })
		s.stored(key, stored)
		return key
	}
	s.timeline(1, of(s.savedAt("a", 1, dawn.Add(24*time.Hour), 2, 2), dawn), 2, 200, "")
	of(s.savedAt("a", 3, dawn.Add(5*time.Hour), 40, 40), dawn.Add(5*time.Hour))
	of(s.savedAt("a", 3, dawn.Add(9*time.Hour), 130, 130), dawn.Add(9*time.Hour))
	p, err := s.point(Choice{Prefer: "0000000000000003", Revision: 115, Of: "ns/a", UID: "present"}, archive.Progress{})
	if err == nil {
		t.Errorf("restored from timeline %d of cluster ID %s: %s", p.Timeline, p.Manifest.Cluster.ID, p.Because())
	}
}

// The EtcdCluster was created again, and its first snapshot is at revision 130. Nothing shows whether it had revision 115, so that is taken from the
// deleted one. status.choice must say so, because a user may want the data of the present one.
func TestTheChoiceNamesTheEtcdClusterThatHadThePoint(t *testing.T) {
	s := newShelf(t)
	s.timeline(1, s.savedBy("deleted", 1, 1), 2, 200, "")
	present := s.savedAt("a", 3, dawn.Add(9*time.Hour), 130, 130)
	s.timeline(2, s.rewrite(present, func(m *snapshot.Manifest) { m.Cluster.UID = "present" }), 130, 140, "")
	c := Choice{Prefer: "0000000000000003", Of: "ns/a", UID: "present"}
	for revision, other := range map[int64]string{115: "deleted", 135: ""} {
		c.Revision = revision
		p, err := s.point(c, archive.Progress{})
		if err != nil || p.Other != other || strings.Contains(p.Because(), "deleted") != (other != "") {
			t.Errorf("revision %d: %v, %s", revision, err, p.Because())
		}
	}
}
