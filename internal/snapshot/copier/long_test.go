package copier

import (
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// The second location keeps one snapshot of each day. The first one keeps all of some days, so the newest foreignBatch snapshots are of the last
// days only. The operator read no older ones, so the second location never got those of the days before, and Copied was True.
func TestASnapshotOfEachDayIsCopiedAlthoughTheFirstLocationKeepsManyOfEachDay(t *testing.T) {
	from, to := snapshottest.Bucket{Store: objstoretest.NewMemory(), T: t}, snapshottest.Bucket{Store: objstoretest.NewMemory(), T: t}
	const days, perDay = 6, retention.ForeignBatch / 4
	for n := range days * perDay {
		from.Place(n*(24*60/perDay), "")
	}
	r := second(from, to)
	r.Policy.Daily = 30
	done := mustCopy(t, r)
	for tries := 0; done.Missing > 0 && tries < 10; tries++ {
		done = mustCopy(t, r)
	}
	var dates []string
	for _, item := range done.Index.Items {
		dates = append(dates, item.Time.Format("02"))
	}
	if dates = slices.Compact(dates); len(dates) < days {
		t.Errorf("the second location has snapshots of the days %v, and the first one has %d days: the others are never copied (missing: %d)", dates, days, done.Missing)
	}
}
