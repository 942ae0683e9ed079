package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A user decides by this number whether he needs the data from before the restore.
func TestTheStatusOfARestoreCountsTheRevisionsThatNothingHas(t *testing.T) {
	for name, test := range map[string]struct {
		saved    *v1beta2.SafetySnapshotStatus
		archived int64
		last     int64
		safety   int64
		unsaved  int64 // -1: not known
	}{
		"nothing saved them":                {nil, 0, 100, 0, 100},
		"the safety snapshot lacks three":   {&v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Revision: 97}, 0, 100, 97, 3},
		"an archive has the rest":           {&v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Revision: 97}, 100, 100, 97, 0},
		"an archive lacks more than that":   {&v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Revision: 97}, 50, 100, 97, 3},
		"the safety snapshot was not taken": {&v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken}, 60, 100, 0, 40},
		"no quorum told the last revision":  {nil, 60, 0, 0, -1},
	} {
		s := stateWith(formed, members(3), asked)
		s.Restore = &v1beta2.ClusterRestoreStatus{Name: s.Request.Name, UID: s.Request.UID, Step: v1beta2.RestoreGrowing, LastRevision: test.last, Incarnation: 1}
		s.Request.Saved, s.Request.Archived = test.saved, test.archived
		got := *s.Restore
		setUnsaved(&got, s)
		unsaved := int64(-1)
		if got.UnsavedRevisions != nil {
			unsaved = *got.UnsavedRevisions
		}
		if got.SafetyRevision != test.safety || unsaved != test.unsaved {
			t.Errorf("%s: the safety snapshot ends at %d, want %d; unsaved are %d, want %d", name, got.SafetyRevision, test.safety, unsaved, test.unsaved)
		}
		s.Request.UID = "another"
		kept := *s.Restore
		if setUnsaved(&kept, s); kept.UnsavedRevisions != nil {
			t.Errorf("%s: another restore is counted", name)
		}
	}
}
