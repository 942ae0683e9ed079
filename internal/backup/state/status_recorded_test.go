package state_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// Who can write to the bucket replaced a snapshot with its manifest. The next attempt wrote the SHA-256 of the new object into the status, so
// that a restore found no difference.
func TestTheStatusKeepsTheSHA256OfAReplacedSnapshot(t *testing.T) {
	saved := v1beta2.Snapshot{Path: "b/old", SHA256: "saved", CreatedAt: state.Stamp(statetest.T0.Add(-time.Hour))}
	forged := saved
	forged.SHA256 = "forged"
	next := v1beta2.Snapshot{Path: "b/new", SHA256: "next", CreatedAt: state.Stamp(statetest.T0)}
	for name, a := range map[string]state.Attempt{
		"the next snapshot": {Result: &state.Result{Snapshot: &next, Kept: []v1beta2.Snapshot{next, forged}}},
		"the same snapshot": {Result: &state.Result{Found: true, Snapshot: &forged, Kept: []v1beta2.Snapshot{forged}}},
	} {
		for place, status := range map[string]v1beta2.EtcdBackupStatus{"newest": {Snapshot: &saved}, "list": {Snapshots: []v1beta2.Snapshot{saved}}} {
			state.RecordSuccess(&status, a, statetest.Series())
			for _, s := range append(status.Snapshots, *status.Snapshot) {
				if s.Path == saved.Path && s.SHA256 != "saved" {
					t.Errorf("%s, recorded as the %s: the status has the SHA-256 %s", name, place, s.SHA256)
				}
			}
		}
	}
}

// A new snapshot may have the path of an earlier one, if the spec of a single snapshot names another store.
func TestTheStatusHasTheSHA256OfANewSnapshotAtTheSamePath(t *testing.T) {
	status := v1beta2.EtcdBackupStatus{Snapshot: &v1beta2.Snapshot{Path: "b/k", SHA256: "first"}}
	second := v1beta2.Snapshot{Path: "b/k", SHA256: "second"}
	state.RecordSuccess(&status, state.Attempt{Result: &state.Result{Snapshot: &second, Kept: []v1beta2.Snapshot{second}}}, statetest.One())
	if status.Snapshot.SHA256 != "second" || status.Snapshots[0].SHA256 != "second" {
		t.Errorf("the status has %+v and %+v", status.Snapshot, status.Snapshots)
	}
}
