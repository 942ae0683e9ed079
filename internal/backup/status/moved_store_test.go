package status

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestTheStatusNamesTheStoreOfItsSnapshot(t *testing.T) {
	old := statetest.Series(statetest.Proven(time.Minute))
	if got := NewStatus(old, plan.Idle{}, nil).SnapshotStore; got != old.Target.Store() {
		t.Errorf("the status of an earlier version: %q, want %q", got, old.Target.Store())
	}
	old.Generation++
	if got := NewStatus(old, plan.Idle{}, nil).SnapshotStore; got != "" {
		t.Errorf("the spec has changed since the status was written, so the store is not known: %q", got)
	}
	out := v1beta2.EtcdBackupStatus{SnapshotStore: "S3 https://former.example.com"}
	state.RecordSuccess(&out, state.Attempt{Result: &state.Result{Snapshot: statetest.SnapshotAt("bucket/x.db", statetest.T0)}}, old)
	if out.SnapshotStore != old.Target.Store() {
		t.Errorf("after a snapshot: %q", out.SnapshotStore)
	}
}
