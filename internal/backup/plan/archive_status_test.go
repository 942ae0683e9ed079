package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A revision that a newer timeline had cannot be restored from an old one. The status must say so, and be written if that changes.
func TestTheStatusSaysWhichRevisionsOnlyATimeRestores(t *testing.T) {
	r := archive.Range{Timeline: 1, From: archive.Point{Revision: 1, At: statetest.T0}, To: archive.Point{Revision: 9, At: statetest.T0}}
	newest := archive.Range{Timeline: 2, From: archive.Point{Revision: 4, At: statetest.T0}, To: archive.Point{Revision: 6, At: statetest.T0}}
	before := Recoverable(nil, []archive.Range{r, newest}, true, 0, statetest.T0)
	r.Hidden = []archive.Revisions{{First: 4, Last: 6}}
	got := Recoverable(before, []archive.Range{r, newest}, true, 0, statetest.T0)
	if want := []v1beta2.RevisionRange{{First: 4, Last: 6}}; !slices.Equal(got[0].OnlyByTime, want) || got[1].OnlyByTime != nil {
		t.Errorf("%+v", got)
	}
	newest.Hidden = []archive.Revisions{{First: 5, Last: 6}} // snapshots of a later cluster show it
	if got = Recoverable(got, []archive.Range{r, newest}, true, 0, statetest.T0); !slices.Equal(got[1].OnlyByTime, []v1beta2.RevisionRange{{First: 5, Last: 6}}) {
		t.Errorf("of the last range: %+v", got)
	}
}

// A user who loses a cluster restores to the end that the status shows, also if the operator is lost with the cluster. While there are writes, that
// end must be a few seconds old, and all archives of an operator together must not keep the API server busy.
func TestTheStatusFollowsWritesWithinSeconds(t *testing.T) {
	at := func(revision int64, after time.Duration) []archive.Range {
		return []archive.Range{{Timeline: 1, From: archive.Point{Revision: 1, At: statetest.T0}, To: archive.Point{Revision: revision, At: statetest.T0.Add(after)}}}
	}
	before := Recoverable(nil, at(9, 0), true, Pace(1), statetest.T0)
	for name, test := range map[string]struct {
		archives, revision int64
		after              time.Duration
		reported           bool
	}{
		"a write":                         {1, 10, WritingInterval, true},
		"a write soon after the last":     {1, 10, WritingInterval - time.Second, false},
		"no write":                        {1, 9, 30 * time.Second, false},
		"no write for a minute":           {1, 9, ArchiveInterval, true},
		"a write in one of 1000 archives": {1000, 10, 30 * time.Second, false},
		"a later write in one of them":    {1000, 10, 50 * time.Second, true},
	} {
		got := Recoverable(before, at(test.revision, test.after), true, Pace(test.archives), statetest.T0.Add(test.after))
		if reported := got[0].To.Time != before[0].To.Time; reported != test.reported {
			t.Errorf("%s: reported is %t", name, reported)
		}
	}
}
