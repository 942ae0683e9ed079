package retention

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// Who can write to the bucket, but delete nothing, wrote a snapshot of their own. The window of the continuous archive began with that one, or was counted from
// it. So the signed snapshots of the window, and the changes after them, were deleted.
func TestAnUnsignedSnapshotMovesNoWindowOfAnArchive(t *testing.T) {
	for name, forged := range map[string]int{"just before the window": 60*6 - 30, "long after the newest signed one": 60 * 14} {
		signer, signers := snapshottest.SigningKey(t)
		l, _, known := hourly(10, untestedAll)
		l.Snapshots = slices.Delete(l.Snapshots, 6, 7)
		for i, e := range l.Snapshots {
			l.Snapshots[i].Manifest = signer.Sign(e.Key, e.Manifest)
			known[e.Key] = catalog.Reading{Manifest: l.Snapshots[i].Manifest}
		}
		p := Policy{MaxBackups: 1, Window: 3 * time.Hour, Now: snapshottest.Noon.Add(24 * time.Hour), Signers: signers}
		bases := func(l catalog.Listing) (deleted []string, base catalog.Item) {
			index := indexOf(l)
			for i := range index.Items {
				index.Items[i].Stored = index.Items[i].Time
			}
			d := Decide(snapshottest.Ours, index, known, p)
			base, found := p.Base(snapshottest.Ours, index, known)
			if len(d.Need) > 0 || !found {
				t.Fatalf("%s: needs %v, found %t", name, d.Need, found)
			}
			return d.Delete, base
		}
		alone, want := bases(l)
		e := snapshottest.Entry(snapshottest.Ours, forged, 1)
		known[e.Key] = catalog.Reading{Manifest: e.Manifest}
		others := catalog.Listing{Snapshots: append(slices.Clone(l.Snapshots), e)}
		got, base := bases(others)
		if base.Key != want.Key {
			t.Errorf("%s: the base is %s, want %s", name, base.Key, want.Key)
		}
		for _, e := range l.Snapshots {
			if slices.Contains(got, e.Key) && !slices.Contains(alone, e.Key) {
				t.Errorf("%s: the signed snapshot %s is deleted", name, e.Key)
			}
		}
	}
}
