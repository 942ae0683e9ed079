package retention

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// The newest restore test failed, and the store does not return the manifest of that snapshot. Retention took an earlier test, which passed, for the
// newest one, and deleted the snapshots from before the damage.
func TestAFailedTestHoldsDeletionsAlthoughTheManifestOfItsSnapshotCannotBeRead(t *testing.T) {
	for name, fault := range map[string]error{"the store fails": errors.New("500 Internal Server Error"), "the manifest is damaged": snapshot.ErrManifest} {
		for _, p := range []Policy{{MaxBackups: 1, Tests: true}, {MaxBackups: 1, Verify: true}} {
			passed, failed, newest := snapshottest.Entry(snapshottest.Ours, 2, 2), snapshottest.Entry(snapshottest.Ours, 3, 3), snapshottest.Entry(snapshottest.Ours, 4, 4)
			passed.Verdict, failed.Verdict = snapshot.Passed, snapshot.Failed
			if p.Verify {
				newest = failed
				passed.Verdict = snapshot.Passed
			}
			l := catalog.Listing{Snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1), passed, failed}, Unreadable: map[string]error{snapshot.ManifestKey(failed.Key): fault}}
			if !p.Verify {
				l.Snapshots = append(l.Snapshots, newest)
			}
			p.Now = snapshottest.Noon.Add(24 * time.Hour)
			d, _ := decided(t, snapshottest.Ours, l, p)
			if len(d.Delete) > 0 || !strings.Contains(strings.Join(d.Notices, " "), failed.Key+" failed") {
				t.Errorf("%s, %+v: deletes %q, notices %q", name, p, d.Delete, d.Notices)
			}
		}
	}
}
