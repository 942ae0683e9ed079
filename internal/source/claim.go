package source

import (
	"cmp"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// ofAnother reports whether a snapshot is of another EtcdBackup than the choice names, of another cluster by its manifest than by its key, or
// from another Kubernetes that has the same names.
func (c Choice) ofAnother(key string, m snapshot.Manifest) bool {
	return c.claim(key, m) != snapshot.Own
}

// claim says what ofAnother found. A person who names the snapshot or its cluster ID admits that of another Kubernetes: a standby takes over.
func (c Choice) claim(key string, m snapshot.Manifest) snapshot.Claim {
	if claim := (snapshot.Owner{Backup: c.Backup}).Compare(key, m); claim != snapshot.Own {
		return claim
	}
	twins := snapshot.Owner{ClusterUID: c.Owner.ClusterUID, ClusterSince: c.Owner.ClusterSince}
	if m.Backup == c.Owner.Backup { // several EtcdBackups may save one cluster
		twins.BackupUID, twins.BackupSince = c.Owner.BackupUID, c.Owner.BackupSince
	}
	if c.Name == "" && c.ClusterID == "" && twins.Compare(key, m) == snapshot.Twin {
		return snapshot.Twin
	}
	return snapshot.Own
}

// onlyTwins returns a refusal if the snapshots that could be bases are from another Kubernetes with the same names, and nil if none is. A later
// snapshot does not help: the cluster that it would be of may be lost, and a person decides whose data is restored.
func (c Choice) onlyTwins(items []catalog.Item, known catalog.Known, target archive.Target) error {
	count, newest := 0, ""
	for _, item := range items {
		reading := known[item.Key]
		if reading.Err == nil && !reading.Manifest.NoQuorum && c.claim(item.Key, reading.Manifest) == snapshot.Twin {
			count++
			newest = cmp.Or(newest, item.Series.ID())
		}
	}
	if count == 0 {
		return nil
	}
	return &archive.Refusal{
		Target: target, Reason: fmt.Sprintf("all %d snapshots that it could begin with are from another Kubernetes, which has the same names", count),
		Way: fmt.Sprintf("To restore the data of that one, write the cluster ID of its snapshots into select.clusterID. That of the newest is %s", newest),
	}
}

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
