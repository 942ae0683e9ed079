package snapshot

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The newest restore test failed, and the store does not return the manifest of that snapshot. Retention took an earlier test, which passed, for the
// newest one, and deleted the snapshots from before the damage.
func TestAFailedTestHoldsDeletionsAlthoughTheManifestOfItsSnapshotCannotBeRead(t *testing.T) {
	for name, fault := range map[string]error{"the store fails": errors.New("500 Internal Server Error"), "the manifest is damaged": ErrManifest} {
		for _, p := range []Policy{{MaxBackups: 1, Tests: true}, {MaxBackups: 1, Verify: true}} {
			passed, failed, newest := entry(ours, 2, 2), entry(ours, 3, 3), entry(ours, 4, 4)
			passed.Verdict, failed.Verdict = Passed, Failed
			if p.Verify {
				newest = failed
				passed.Verdict = Passed
			}
			l := Listing{Snapshots: []Entry{entry(ours, 1, 1), passed, failed}, Unreadable: map[string]error{ManifestKey(failed.Key): fault}}
			if !p.Verify {
				l.Snapshots = append(l.Snapshots, newest)
			}
			p.Now = noon.Add(24 * time.Hour)
			d, _ := decided(t, ours, l, p)
			if len(d.Delete) > 0 || !strings.Contains(strings.Join(d.Notices, " "), failed.Key+" failed") {
				t.Errorf("%s, %+v: deletes %q, notices %q", name, p, d.Delete, d.Notices)
			}
		}
	}
}
