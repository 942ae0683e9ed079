package attempt

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// blame records the first error of a deletion.
func blame(r *state.Result, o state.JobSpec, err error) {
	if err == nil || r.PruneProblem != "" {
		return
	}
	f := failure.Classify(err, o, false)
	r.PruneReason, r.PruneProblem = f.Reason, f.Message
}

// testResults are the results of restore tests as the status shows them.
var testResults = map[snapshot.Result]v1beta2.DrillResult{snapshot.Passed: v1beta2.DrillPassed, snapshot.Failed: v1beta2.DrillFailed}

// reportKept reports objects without a manifest, unless there is an error.
func reportKept(r *state.Result, o state.JobSpec, objects []string, prefix string) {
	if len(objects) == 0 {
		return
	}
	blame(r, o, failure.New(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("Objects under %s without a manifest: %d, such as %s. They may be snapshots whose manifests were "+
		"deleted, or uploads of another EtcdBackup. The operator keeps them. Restore the manifests, or delete the objects.", prefix, len(objects), objects[0])))
}
