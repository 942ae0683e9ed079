package attempt_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// An archive with more segments than are held was never deleted with its EtcdBackup, so the user paid for it. If only its start is deleted, no later
// attempt knows whose the rest is.
func TestAnArchiveWithMoreNamesThanAreHeldIsDeletedWithItsEtcdBackup(t *testing.T) {
	o := state.JobSpec{Namespace: "ns", Cluster: "c", UID: "uid"}
	start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 1, At: statetest.T0}}, "test")
	start.Writer = "uid"
	m := objstoretest.NewMemory()
	attempttest.Place(t, m, archive.StartKey(o.ArchiveRoot(), 1), string(start.Encode()))
	for first := range int64(5) {
		attempttest.Place(t, m, archive.LinkKey(o.ArchiveRoot(), 1, statetest.T0, 2+first), "")
	}
	names := archive.Names{Timeline: 1, Started: true, Links: []archive.Name{archive.NameOf(1, statetest.T0, 4)}, Omitted: 4}
	if err := attempt.PurgeTimeline(t.Context(), o, m, names, nil); err != nil || len(m.Keys()) > 0 {
		t.Errorf("%q are left, error %v", m.Keys(), err)
	}
}
