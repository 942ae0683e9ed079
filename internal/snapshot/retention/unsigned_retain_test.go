package retention

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// signedHistory returns signed snapshots, one each hour, and unsigned ones at random times among them and after them.
func signedHistory(t *testing.T, r *rand.Rand, signed, unsigned int) (l catalog.Listing, own []catalog.Entry, by snapshot.Signers) {
	t.Helper()
	signer, signers := snapshottest.SigningKey(t)
	for hour := range signed {
		e := snapshottest.Entry(snapshottest.Ours, 60*hour, int64(hour+1))
		e.Verdict = []snapshot.Result{"", "", snapshot.Passed, snapshot.Failed}[r.IntN(4)]
		e.Manifest.NoQuorum, e.Manifest.Keys = r.IntN(6) == 0, []int64{10, 10, 10, 10, 10, 1000}[r.IntN(6)]
		e.Manifest = signer.Sign(e.Key, e.Manifest)
		own = append(own, e)
	}
	l.Snapshots = slices.Clone(own)
	taken := map[string]bool{}
	for range unsigned {
		e := snapshottest.Entry(snapshottest.Ours, 1+r.IntN(60*signed+600), 1)
		e.Manifest.Keys = 1_000_000
		if e.Verdict = []snapshot.Result{"", snapshot.Passed}[r.IntN(2)]; taken[e.Key] || slices.ContainsFunc(own, func(o catalog.Entry) bool { return o.Key == e.Key }) {
			continue
		}
		taken[e.Key] = true
		l.Snapshots = append(l.Snapshots, e)
	}
	return l, own, signers
}

// Whatever others write into the bucket, a signed snapshot is kept if it would be kept without that. And what others write is deleted.
func TestRetentionKeepsEachSignedSnapshotThatItWouldKeepAlone(t *testing.T) {
	deleted := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 75))
		l, own, signers := signedHistory(t, r, 5+r.IntN(40), r.IntN(60))
		p := Policy{MaxBackups: r.IntN(5), Hourly: r.IntN(3), Daily: r.IntN(3), Tests: r.IntN(2) == 0, Now: snapshottest.Noon.Add(100 * time.Hour), Signers: signers}
		alone := retained(t, snapshottest.Ours, catalog.Listing{Snapshots: own}, p)
		got := retained(t, snapshottest.Ours, l, p)
		for _, e := range own {
			if slices.Contains(got, e.Key) && !slices.Contains(alone, e.Key) {
				t.Fatalf("seed %d: %+v: the signed snapshot %s (%s, no quorum %t) is deleted, because others wrote unsigned ones", seed, p, e.Key, e.Verdict, e.Manifest.NoQuorum)
			}
		}
		deleted += len(got)
	}
	if deleted < 500 {
		t.Errorf("only %d names are deleted", deleted)
	}
}

// Others have written thousands of snapshots without a signature. One run reads a limited number of manifests, and deletes only those without a
// signature, until all of them are deleted.
func TestManyUnsignedSnapshotsAreDeletedWithFewReads(t *testing.T) {
	const many = 2000
	signer, signers := snapshottest.SigningKey(t)
	var l catalog.Listing
	for i := range 20 {
		e := snapshottest.Entry(snapshottest.Ours, i, 1)
		e.Manifest = signer.Sign(e.Key, e.Manifest)
		l.Snapshots = append(l.Snapshots, e)
	}
	for i := range many {
		l.Snapshots = append(l.Snapshots, snapshottest.Entry(snapshottest.Ours, 100+i, 1))
	}
	p := Policy{MaxBackups: 5, Now: snapshottest.Noon.Add(1000 * time.Hour), Signers: signers}
	for run := 0; ; run++ {
		d, known := decided(t, snapshottest.Ours, l, p)
		if len(known) > 4*ForeignBatch {
			t.Fatalf("run %d reads %d manifests", run, len(known))
		}
		l.Snapshots = slices.DeleteFunc(l.Snapshots, func(e catalog.Entry) bool {
			return slices.Contains(d.Delete, e.Key)
		})
		if len(d.Delete) == 0 {
			break
		}
	}
	var left []string
	for _, e := range l.Snapshots {
		left = append(left, fmt.Sprintf("%s signed %t", e.Key[len(e.Key)-40:], signers.Check(e.Key, e.Manifest) == nil))
	}
	if len(left) != 10 { // the newest 5 of all, and the newest 5 of the signed ones
		t.Errorf("%d snapshots are left: %q", len(left), left[:min(len(left), 20)])
	}
}
