package retention

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// Others wrote one snapshot without a signature whose manifest has a million keys, or none. The signed ones seemed to have lost their keys, so all earlier ones were
// kept from then on, and the status asked a person to restore the snapshot of the others.
func TestTheKeysOfAnUnsignedSnapshotDoNotCount(t *testing.T) {
	signer, signers := snapshottest.SigningKey(t)
	for name, c := range map[string]struct {
		minute int
		keys   int64
	}{"among the signed ones, with a million keys": {60*8 + 30, 1_000_000}, "after the signed ones, without keys": {60 * 20, 0}} {
		var l catalog.Listing
		for hour := range 10 {
			e := snapshottest.Entry(snapshottest.Ours, 60*hour, int64(hour+1))
			e.Manifest.Keys = 100
			e.Manifest = signer.Sign(e.Key, e.Manifest)
			l.Snapshots = append(l.Snapshots, e)
		}
		p := Policy{MaxBackups: 3, Now: snapshottest.Noon.Add(100 * time.Hour), Signers: signers}
		alone := retained(t, snapshottest.Ours, l, p)
		forged := snapshottest.Entry(snapshottest.Ours, c.minute, 100)
		forged.Manifest.Keys = c.keys
		l.Snapshots = append(l.Snapshots, forged)
		got := retained(t, snapshottest.Ours, l, p)
		for _, key := range alone {
			if !slices.Contains(got, key) {
				t.Errorf("%s: %s is kept, because others wrote %s", name, key, forged.Key)
			}
		}
		if len(alone) == 0 {
			t.Error("nothing is deleted")
		}
	}
}

// The snapshots from before signing was turned on have no signature. If the first signed one has few of their keys, they are kept.
func TestTheKeysOfSnapshotsBeforeAllSignedOnesCount(t *testing.T) {
	signer, signers := snapshottest.SigningKey(t)
	var l catalog.Listing
	for hour := range 10 {
		e := snapshottest.Entry(snapshottest.Ours, 60*hour, int64(hour+1))
		if e.Manifest.Keys = 1000; hour > 6 {
			e.Manifest.Keys = 1
			e.Manifest = signer.Sign(e.Key, e.Manifest)
		}
		l.Snapshots = append(l.Snapshots, e)
	}
	p := Policy{MaxBackups: 2, Now: snapshottest.Noon.Add(100 * time.Hour), Signers: signers}
	for _, key := range retained(t, snapshottest.Ours, l, p) {
		if key != l.Snapshots[7].Key && !slices.Contains([]string{snapshot.ManifestKey(l.Snapshots[7].Key)}, key) {
			t.Errorf("%s is deleted, and the signed ones have few of its keys", key)
		}
	}
}
