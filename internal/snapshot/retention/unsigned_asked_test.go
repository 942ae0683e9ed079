package retention

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// asked is a store with some objects that counts what it is asked for.
type asked struct {
	has map[string]string
	n   int
}

func (a *asked) Get(_ context.Context, key string) (io.ReadCloser, error) {
	a.n++
	if text, ok := a.has[key]; ok {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	return nil, fs.ErrNotExist
}

// Others wrote snapshots without a signature, and results of restore tests. The listing omitted that the newest signed snapshot had failed its restore test. The
// operator asked only for the results of the snapshots of others, thousands of them at each look, and deleted the archive before a good one.
func TestSnapshotsOfOthersAreNotAskedForWhatAListingOmits(t *testing.T) {
	signer, signers := snapshottest.SigningKey(t)
	l, _, known := hourly(10, func(hour int) snapshot.Result { return []snapshot.Result{snapshot.Passed, ""}[hour/9] })
	for i, e := range l.Snapshots {
		l.Snapshots[i].Manifest = signer.Sign(e.Key, e.Manifest)
		known[e.Key] = catalog.Reading{Manifest: l.Snapshots[i].Manifest}
	}
	newest := l.Snapshots[9]
	for i := range 1000 {
		e := snapshottest.Entry(snapshottest.Ours, 60*9+1+i/20, int64(100+i))
		if known[e.Key] = (catalog.Reading{Manifest: e.Manifest}); i == 500 {
			e.Verdict = snapshot.Passed
		}
		l.Snapshots = append(l.Snapshots, e)
	}
	index := indexOf(l)
	for i := range index.Items {
		index.Items[i].Stored = index.Items[i].Time
	}
	p := Policy{MaxBackups: 1, Window: 3 * time.Hour, Now: snapshottest.Noon.Add(24 * time.Hour), Signers: signers, Tests: true}
	if bases, err := p.AskedBases(t.Context(), &asked{}, snapshottest.Ours, index, known); err != nil || len(bases) == 0 {
		t.Fatalf("without a failed test: %v, %v", bases, err)
	}
	store := &asked{has: map[string]string{snapshot.VerdictKey(newest.Key, snapshot.Failed): "{}"}}
	bases, err := p.AskedBases(t.Context(), store, snapshottest.Ours, index, known)
	if err != nil || len(bases) > 0 {
		t.Errorf("the newest signed snapshot failed its test, and the archive is deleted before %v: %v", bases, err)
	}
	if store.n > 20 {
		t.Errorf("%d objects are asked for", store.n)
	}
}
