package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A revision that a newer timeline had cannot be restored from an old one. The status must say so, and be written if that changes.
func TestTheStatusSaysWhichRevisionsOnlyATimeRestores(t *testing.T) {
	r := archive.Range{Timeline: 1, From: archive.Point{Revision: 1, At: statetest.T0}, To: archive.Point{Revision: 9, At: statetest.T0}}
	newest := archive.Range{Timeline: 2, From: archive.Point{Revision: 4, At: statetest.T0}, To: archive.Point{Revision: 6, At: statetest.T0}}
	before := CopyRecoverable(nil, []archive.Range{r, newest}, true, statetest.T0)
	r.Hidden = []archive.Revisions{{First: 4, Last: 6}}
	got := CopyRecoverable(before, []archive.Range{r, newest}, true, statetest.T0)
	if want := []v1beta2.RevisionRange{{First: 4, Last: 6}}; !slices.Equal(got[0].OnlyByTime, want) || got[1].OnlyByTime != nil {
		t.Errorf("%+v", got)
	}
	newest.Hidden = []archive.Revisions{{First: 5, Last: 6}} // snapshots of a later cluster show it
	if got = CopyRecoverable(got, []archive.Range{r, newest}, true, statetest.T0); !slices.Equal(got[1].OnlyByTime, []v1beta2.RevisionRange{{First: 5, Last: 6}}) {
		t.Errorf("of the last range: %+v", got)
	}
	if got = Recoverable(state.Archive{Ranges: []archive.Range{r, newest}}); !slices.Equal(got[0].OnlyByTime, []v1beta2.RevisionRange{{First: 4, Last: 6}}) || len(got[1].OnlyByTime) != 1 {
		t.Errorf("of the first location: %+v", got)
	}
}

// The status would be written for each segment if it always had the exact end. If the archiver does not run, the cluster may be lost, and its user restores to
// the newest change that is in the store.
func TestTheExactEndIsShownOnlyIfTheArchiverDoesNotRun(t *testing.T) {
	of := func(last int64) archive.Range {
		return archive.Range{From: archive.Point{Revision: 1, At: statetest.T0}, To: archive.Point{Revision: last, At: statetest.T0}}
	}
	shown := archive.Point{Revision: 7, At: statetest.T0}
	for name, test := range map[string]struct {
		archive state.Archive
		want    []int64
	}{
		"it runs":                             {state.Archive{Begun: true, Shown: shown, Ranges: []archive.Range{of(3), of(9)}}, []int64{3, 7}},
		"it does not run":                     {state.Archive{Shown: shown, Ranges: []archive.Range{of(3), of(9)}}, []int64{3, 9}},
		"it runs, and has not decided":        {state.Archive{Begun: true, Ranges: []archive.Range{of(3), of(9)}}, []int64{3, 9}},
		"it runs, and nothing is recoverable": {state.Archive{Begun: true, Shown: shown}, nil},
	} {
		var got []int64
		for _, r := range Recoverable(test.archive) {
			got = append(got, r.To.Revision)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: the ranges end at %d, want %d", name, got, test.want)
		}
	}
}

// A user who loses a cluster restores to the end that the status shows, also if the operator is lost with the cluster. That end must not be older than
// ten seconds, and all archives of an operator together must not keep the API server busy.
func TestAThousandArchivesReportOftenEnoughAndNotMore(t *testing.T) {
	for _, archives := range []int64{0, 1, 100, 1000, 2000, 1_000_000} {
		pace := Pace(archives)
		if perSecond := float64(archives) / pace.Seconds(); archives <= 2000 && perSecond > 100 {
			t.Errorf("%d archives report %.0f times a second", archives, perSecond)
		}
		if archives <= 1000 && pace > 10*time.Second || pace > ArchiveInterval || pace < time.Second {
			t.Errorf("the end of one of %d archives is %s old", archives, pace)
		}
	}
}

// An archive without a range that can be restored has none in its copies either.
func TestACopyWithoutARangeShowsNone(t *testing.T) {
	if got := CopyRecoverable(nil, nil, true, statetest.T0); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// The status of a copy is written at most once a minute. A user who restores from it must not read an end that the copy does not have, or one that is older.
func TestTheEndOfACopyIsReportedOnceAMinute(t *testing.T) {
	to := func(at time.Duration) []archive.Range {
		return []archive.Range{{Timeline: 1, From: archive.Point{Revision: 1, At: statetest.T0}, To: archive.Point{Revision: 9, At: statetest.T0.Add(at)}}}
	}
	before := CopyRecoverable(nil, to(0), true, statetest.T0)
	for moved, reported := range map[time.Duration]bool{0: false, ArchiveInterval - time.Second: false, ArchiveInterval: true, -time.Second: true} {
		got := CopyRecoverable(before, to(moved), true, statetest.T0.Add(time.Hour))
		if is := got[0].To.Time.Time.Equal(statetest.T0.Add(moved)); moved != 0 && is != reported {
			t.Errorf("the end has moved by %s, and the status has %s", moved, got[0].To.Time)
		}
	}
	if got := CopyRecoverable(before, to(time.Second), false, statetest.T0); !got[0].To.Time.Time.Equal(statetest.T0.Add(time.Second)) {
		t.Errorf("the copier does not run, and the status has the end %s", got[0].To.Time)
	}
}
