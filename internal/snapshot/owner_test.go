package snapshot_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestAnOwnerIsComparedWithKeyAndManifest(t *testing.T) {
	mine := snapshottest.OwnerOf("uid-1", snapshottest.Noon)
	change := func(e catalog.Entry, to func(*snapshot.Manifest)) catalog.Entry { to(&e.Manifest); return e }
	oneShot := snapshottest.EntryOf("uid-1", 5)
	oneShot.Key = "f/before-upgrade.db"
	for name, test := range map[string]struct {
		entry catalog.Entry
		want  snapshot.Claim
	}{
		"its own snapshot":             {snapshottest.EntryOf("uid-1", 5), snapshot.Own},
		"one with a name of no series": {oneShot, snapshot.Own},
		"one from before the EtcdBackup was created again, or its Kubernetes restored": {snapshottest.EntryOf("uid-0", -5), snapshot.Own},
		"one without an EtcdBackup": {change(snapshottest.EntryOf("uid-1", 5), func(m *snapshot.Manifest) { m.Backup, m.Attempt = "", "" }), snapshot.Own},
		"one of another EtcdBackup": {change(snapshottest.EntryOf("uid-2", 5), func(m *snapshot.Manifest) { m.Backup, m.Cluster.UID = "c", "cluster-uid-1" }), snapshot.Other},
		"one of another Kubernetes": {snapshottest.EntryOf("uid-2", 5), snapshot.Twin},
		"one of another EtcdCluster with the same names, of which the EtcdBackup is not known": {change(snapshottest.EntryOf("uid-2", 5), func(m *snapshot.Manifest) { m.Attempt = "" }), snapshot.Twin},
		"one of another namespace":  {change(snapshottest.EntryOf("uid-1", 5), func(m *snapshot.Manifest) { m.Cluster.Namespace = "tenant" }), snapshot.Contradictory},
		"one of another cluster":    {change(snapshottest.EntryOf("uid-1", 5), func(m *snapshot.Manifest) { m.Cluster.Name = "c" }), snapshot.Contradictory},
		"one of another cluster ID": {change(snapshottest.EntryOf("uid-1", 5), func(m *snapshot.Manifest) { m.Cluster.ID = "00000000000000ff" }), snapshot.Contradictory},
		"one that names nothing":    {change(snapshottest.EntryOf("uid-1", 5), func(m *snapshot.Manifest) { m.Cluster = snapshot.Cluster{} }), snapshot.Contradictory},
	} {
		if got := mine.Compare(test.entry.Key, test.entry.Manifest); got != test.want {
			t.Errorf("%s: claim %d, want %d", name, got, test.want)
		}
	}
}
