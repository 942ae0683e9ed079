package plan

import (
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A revision that a newer timeline had cannot be restored from an old one. The status must say so, and be written if that changes.
func TestTheStatusSaysWhichRevisionsOnlyATimeRestores(t *testing.T) {
	r := archive.Range{Timeline: 1, From: archive.Point{Revision: 1, At: statetest.T0}, To: archive.Point{Revision: 9, At: statetest.T0}}
	newest := archive.Range{Timeline: 2, From: archive.Point{Revision: 4, At: statetest.T0}, To: archive.Point{Revision: 6, At: statetest.T0}}
	before := Recoverable(nil, []archive.Range{r, newest}, true, statetest.T0)
	r.Hidden = []archive.Revisions{{First: 4, Last: 6}}
	got := Recoverable(before, []archive.Range{r, newest}, true, statetest.T0)
	if want := []v1beta2.RevisionRange{{First: 4, Last: 6}}; !slices.Equal(got[0].OnlyByTime, want) || got[1].OnlyByTime != nil {
		t.Errorf("%+v", got)
	}
	newest.Hidden = []archive.Revisions{{First: 5, Last: 6}} // snapshots of a later cluster show it
	if got = Recoverable(got, []archive.Range{r, newest}, true, statetest.T0); !slices.Equal(got[1].OnlyByTime, []v1beta2.RevisionRange{{First: 5, Last: 6}}) {
		t.Errorf("of the last range: %+v", got)
	}
}
