package source

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// The store proves that the present history had revision 115, which is not archived: the next timeline of the same cluster ID begins after it, or
// a snapshot of the same cluster ID is after it. An older timeline has other data at 115.
func TestARevisionThatOnlyLaterObjectsProveIsNotOfAnOlderHistory(t *testing.T) {
	for name, build := range map[string]func(s shelf, of func(key, uid, recovery string) string) Choice{
		"restored, not archived from 101, quorum lost and recovered at 130": func(s shelf, of func(key, uid, recovery string) string) Choice {
			s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2), "present", ""), 2, 200, "")
			s.timeline(2, of(s.savedAt("a", 3, dawn.Add(5*time.Hour), 40, 40), "present", ""), 40, 100, "")
			s.timeline(3, of(s.savedAt("a", 3, dawn.Add(9*time.Hour), 130, 130), "present", "r"), 130, 140, "r")
			return Choice{Prefer: "0000000000000003"}
		},
		"restored, not archived from 101, a snapshot at 130": func(s shelf, of func(key, uid, recovery string) string) Choice {
			s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2), "present", ""), 2, 200, "")
			s.timeline(2, of(s.savedAt("a", 3, dawn.Add(5*time.Hour), 40, 40), "present", ""), 40, 100, "")
			of(s.savedAt("a", 3, dawn.Add(9*time.Hour), 130, 130), "present", "")
			return Choice{Prefer: "0000000000000003"}
		},
		"restored while continuous was off, archived again from 130": func(s shelf, of func(key, uid, recovery string) string) Choice {
			s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2), "present", ""), 2, 200, "")
			of(s.savedAt("a", 3, dawn.Add(5*time.Hour), 40, 40), "present", "")
			s.timeline(2, of(s.savedAt("a", 3, dawn.Add(9*time.Hour), 130, 130), "present", ""), 130, 140, "")
			return Choice{Prefer: "0000000000000003"}
		},
		"restored, and never archived since": func(s shelf, of func(key, uid, recovery string) string) Choice {
			s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2), "present", ""), 2, 200, "")
			of(s.savedAt("a", 3, dawn.Add(5*time.Hour), 40, 40), "present", "")
			of(s.savedAt("a", 3, dawn.Add(9*time.Hour), 130, 130), "present", "")
			return Choice{Prefer: "0000000000000003"}
		},
		"created again, continuous switched on at 130": func(s shelf, of func(key, uid, recovery string) string) Choice {
			s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2), "deleted", ""), 2, 200, "")
			of(s.savedAt("a", 3, dawn.Add(5*time.Hour), 10, 10), "present", "")
			s.timeline(2, of(s.savedAt("a", 3, dawn.Add(9*time.Hour), 130, 130), "present", ""), 130, 140, "")
			return Choice{Prefer: "0000000000000003"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			c := build(s, func(key, uid, recovery string) string {
				return s.rewrite(key, func(m *snapshot.Manifest) { m.Cluster.UID, m.Recovery = uid, recovery })
			})
			c.Revision, c.Of, c.UID = 115, "ns/a", "present"
			p, err := s.point(c, archive.Progress{})
			if err == nil {
				t.Errorf("chosen without a word: timeline %d of cluster ID %s, UID %s", p.Timeline, p.Manifest.Cluster.ID, p.Manifest.Cluster.UID)
			}
		})
	}
}
