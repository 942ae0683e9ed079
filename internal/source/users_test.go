package source

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// The cluster is idle at revision 12. A user turns authentication on, which does not change the revision. The archive takes a snapshot at once. A
// restore to revision 12, the end of status.recoverable, must not lose the users and serve everybody without a password.
func TestTheEndOfTheArchiveIsRestoredWithAuthentication(t *testing.T) {
	s := newShelf(t)
	state := func(key string, at time.Time, revision uint64, on bool) string {
		key = s.rewrite(key, func(m *snapshot.Manifest) {
			m.Cluster.UID, m.AuthRevision, m.AuthEnabled = "present", revision, auth.SwitchOf(on)
		})
		s.captured(key, at)
		return key
	}
	s.timeline(1, state(s.savedAt("a", 1, dawn, 2, 2), dawn, 1, false), 2, 12, "")
	open := state(s.savedAt("a", 1, dawn.Add(time.Hour), 12, 12), dawn.Add(time.Hour), 1, false)
	closed := state(s.savedAt("a", 1, dawn.Add(2*time.Hour), 12, 12), dawn.Add(2*time.Hour), 8, true)
	p, err := s.point(Choice{Prefer: "0000000000000001", Revision: 12, Of: "ns/a", UID: "present"},
		archive.Progress{Timeline: 1, Point: archive.Point{Revision: 12, At: dawn.Add(3 * time.Hour)}})
	if err != nil || p.Base.Key != closed {
		t.Errorf("base %s (that without authentication is %s, that with it %s): %v", p.Base.Key, open, closed, err)
	}
}
