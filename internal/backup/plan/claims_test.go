package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// The spec now names another cluster. Until the next month, the status would call a snapshot of the old cluster the newest one.
func TestASnapshotOfAnotherClusterDoesNotCount(t *testing.T) {
	s := statetest.Series(statetest.Proven(time.Minute), statetest.Of(statetest.Available()))
	s.CreatedAt = statetest.T0.Add(-1000 * time.Hour)
	s.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "0 0 1 * *"}
	if step, is := next(s).(Scheduled); !is {
		t.Fatalf("a snapshot of the cluster does not count: %+v", step)
	}
	s.Spec.EtcdCluster.Name = "other"
	if step, is := next(s).(TakeSnapshot); !is {
		t.Errorf("the snapshot of another cluster counts: %+v", step)
	}
}
