package retention

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// A tenant names the series of another namespace in the path of his one-shot. The retention of its owner deleted every real snapshot.
func TestForgedSnapshotsDoNotCountAndDeleteNothing(t *testing.T) {
	var l catalog.Listing
	for minute := range 3 {
		l.Snapshots = append(l.Snapshots, snapshottest.EntryOf("uid-1", minute))
	}
	for minute := range 5 {
		forged := snapshottest.EntryOf("uid-9", 100+minute)
		forged.Manifest.Cluster.Namespace = "tenant"
		l.Snapshots = append(l.Snapshots, forged)
	}
	p := Policy{MaxBackups: 3, Owner: snapshottest.OwnerOf("uid-1", snapshottest.Noon.Add(-time.Hour)), Now: snapshottest.Noon.Add(24 * time.Hour)}
	d, _ := decided(t, snapshottest.Ours, l, p)
	if len(d.Delete) > 0 || !strings.Contains(strings.Join(d.Notices, " "), "5 snapshots in the folder by another Kubernetes or another namespace") {
		t.Errorf("deletes %q, notices %q", d.Delete, d.Notices)
	}
}

// Two Kubernetes have the same names and the same cluster ID. Each of them kept half of its snapshots.
func TestSnapshotsOfAnotherKubernetesDoNotCount(t *testing.T) {
	var l catalog.Listing
	for minute := range 6 {
		l.Snapshots = append(l.Snapshots, snapshottest.EntryOf(fmt.Sprint("uid-", minute%2), 10+minute))
	}
	p := Policy{MaxBackups: 2, Owner: snapshottest.OwnerOf("uid-1", snapshottest.Noon), Now: snapshottest.Noon.Add(24 * time.Hour)}
	d, _ := decided(t, snapshottest.Ours, l, p)
	if want := []string{snapshottest.EntryOf("uid-1", 11).Key, snapshot.ManifestKey(snapshottest.EntryOf("uid-1", 11).Key)}; !slices.Equal(d.Delete, want) {
		t.Errorf("deletes %q, want %q", d.Delete, want)
	}
}

func retain(t *testing.T, m *objstoretest.Memory, p Policy) Decision {
	t.Helper()
	index, err := catalog.Scan(t.Context(), m, snapshottest.Ours.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	d, err := Retain(t.Context(), m, snapshottest.Ours, index, catalog.Known{}, p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// One listing omitted one object, for example between two pages. Its manifest was deleted, so that no restore found it any more.
func TestAnObjectThatOneListingOmitsKeepsItsManifest(t *testing.T) {
	for name, test := range map[string]struct {
		fault   objstoretest.Fault
		remove  bool
		deletes bool
	}{
		"the listing omits it":                           {fault: objstoretest.Omitted},
		"the listing omits it, and the store refuses it": {fault: objstoretest.Omitted | objstoretest.Cold},
		"the listing omits it, and the store fails":      {fault: objstoretest.Omitted | objstoretest.Lost},
		"it was deleted":                                 {remove: true, deletes: true},
	} {
		m, keys := snapshottest.SeriesInMemory(t, 3)
		m.Set(keys[2], test.fault)
		if test.remove {
			if err := m.Delete(t.Context(), keys[2]); err != nil {
				t.Fatal(err)
			}
		}
		d := retain(t, m, Policy{Owner: snapshottest.OwnerOf("uid-1", snapshottest.Noon.Add(-time.Hour)), Now: snapshottest.Noon.Add(9 * time.Hour)})
		if got := slices.Contains(d.Delete, snapshot.ManifestKey(keys[2])); got != test.deletes || len(d.Delete) > 1 {
			t.Errorf("%s: deletes %q", name, d.Delete)
		}
	}
}
