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
