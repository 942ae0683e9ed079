package cluster

import (
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// The cache of a new leader still has an EtcdRestore that was deleted an hour ago. "If you delete an EtcdRestore before its
// switch, the operator undoes the restore."
func TestNoSwitchBeginsForARestoreThatIsDeleted(t *testing.T) {
	r, v := beside(t)
	v.cluster.Status.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSeeding}
	v.Restore, v.Request = v.cluster.Status.Restore, &plan.RestoreRequest{Name: "back", UID: "uid-back"}
	r.APIReader = besideOnly(t, r, v.cluster) // without the EtcdRestore
	if err := r.confirm(t.Context(), v, plan.BeginSwitch{ClusterID: seedID}); !errors.Is(err, errBehind) {
		t.Errorf("the switch begins: %v", err)
	}
}
