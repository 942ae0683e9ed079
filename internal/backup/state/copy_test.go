package state_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestTheSecondLocationDiffersFromTheFirst(t *testing.T) {
	s := statetest.Series(statetest.Copies)
	s.Spec.CopyTo.S3.Path = "bucket/dir/snap.db"
	if _, problem := state.CopyTargetOf(s.Namespace, s.Name, s.Spec, s.Target); problem == nil || problem.Reason != v1beta2.ReasonInvalidSpec {
		t.Errorf("problem %+v", problem)
	}
}

// Only the first location has segments. With the window of the archive, the second one would keep snapshots that nothing needs, and a
// deletion would look for an archive there.
func TestTheSecondLocationHasNoArchive(t *testing.T) {
	o := state.JobSpecOf(statetest.Series(statetest.Copies))
	o.Archived, o.Keep.Window = true, 168*time.Hour
	if second := o.Second(); second.Archived || second.Keep.Window != 0 || second.Target.Path() != o.Copy.Path() {
		t.Errorf("archived %t, window %s, target %+v", second.Archived, second.Keep.Window, second.Target)
	}
}
