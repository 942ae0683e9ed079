package retention

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// TestRetentionThatWasKilledIsCompletedByTheNextRun kills a retention run at each call. Every listed snapshot must be
// complete at any time.
func TestRetentionThatWasKilledIsCompletedByTheNextRun(t *testing.T) {
	policy := Policy{MaxBackups: 2}
	run := func(t *testing.T, store objstore.Store) error {
		policy.Now = snapshottest.Noon.Add(time.Hour)
		d, err := prune(t.Context(), store, policy)
		if err != nil {
			return err
		}
		for _, key := range d.Delete {
			if err := store.Delete(t.Context(), key); err != nil {
				return err
			}
		}
		return nil
	}
	for _, when := range []snapshottest.When{snapshottest.Before, snapshottest.After} {
		for at := 1; ; at++ {
			store := snapshottest.NewBucket(t)
			for i := range 5 {
				store.Commit(snapshottest.Entry(snapshottest.Ours, i, int64(i)))
			}
			if err := run(t, &snapshottest.Mortal{Store: store, At: at, When: when}); err == nil {
				break
			}
			listing, err := catalog.List(t.Context(), store, snapshottest.Ours.Prefix())
			if err != nil {
				t.Fatal(err)
			}
			if len(listing.Unreadable)+len(listing.Uncommitted) != 0 || len(listing.Snapshots) < 2 {
				t.Errorf("killed %s call %d: left %+v", when, at, listing)
			}
			if err := run(t, store); err != nil {
				t.Fatal(err)
			}
			want := []string{snapshottest.Entry(snapshottest.Ours, 3, 3).Key, snapshottest.Entry(snapshottest.Ours, 3, 3).Key + ".json", snapshottest.Entry(snapshottest.Ours, 4, 4).Key, snapshottest.Entry(snapshottest.Ours, 4, 4).Key + ".json"}
			if diff := cmp.Diff(want, store.Keys()); diff != "" {
				t.Errorf("killed %s call %d, finished (-want +got):\n%s", when, at, diff)
			}
		}
	}
}

// prune decides about a store.
func prune(ctx context.Context, store objstore.Store, policy Policy) (Decision, error) {
	index, err := catalog.Scan(ctx, store, snapshottest.Ours.Prefix())
	if err != nil {
		return Decision{}, err
	}
	return Retain(ctx, store, snapshottest.Ours, index, catalog.Known{}, policy)
}
