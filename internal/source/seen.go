package source

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// seen returns what the snapshots of a folder show: which cluster had which revision. All that are listed count, even those that can be no base or
// have no manifest. Those
// of another Kubernetes with the same names do not count, unless the choice names their cluster ID.
func (c Choice) seen(listed []candidate, known catalog.Known) []archive.Seen {
	foreign := map[string]bool{}
	reads := func(e candidate) (snapshot.Manifest, bool) {
		reading, found := known[e.Key]
		return reading.Manifest, found && reading.Err == nil
	}
	for _, e := range listed {
		if m, read := reads(e); read && c.ofAnother(e.Key, m) {
			foreign[e.clusterID] = true
		}
	}
	var seen []archive.Seen
	for _, e := range listed {
		m, read := reads(e)
		if foreign[e.clusterID] && (!read || c.ofAnother(e.Key, m)) {
			continue
		}
		if read {
			seen = append(seen, BaseOf(e.Key, m, e.Stored).Seen())
		} else {
			seen = append(seen, SeenByKey(e.Item))
		}
	}
	return seen
}

// SeenByKey returns what the name of a snapshot of a series shows. Its manifest cannot be read, or was not read.
func SeenByKey(item catalog.Item) archive.Seen {
	named, _ := snapshot.ParseKey(item.Key)
	return archive.Seen{
		Key: item.Key, ClusterID: item.Series.ID(), Unread: true, Revision: max(named.Revision, 1), At: archive.Earlier(item.Time, item.Stored),
	}
}

// BaseOf returns a snapshot as the base of a replay. stored is when the store received it, or later.
func BaseOf(key string, m snapshot.Manifest, stored time.Time) archive.Base {
	at := m.CapturedAt
	if at.IsZero() { // the member began to send it before the store had it
		at = stored
	}
	return archive.Base{
		Key: key, ClusterID: m.Cluster.ID, Auth: m.Auth(), Recovery: m.Recovery, Captured: !m.CapturedAt.IsZero(), Stored: stored,
		Point: archive.Point{Revision: max(m.Revision, 1), At: at.UTC()}, // an empty database has revision 1
	}
}
