package archiving

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// If the archiver started again for that, the change before a fence would be stored later, and not sooner.
func TestAnArchiverContinuesWhenItsClusterBecomesReadOnly(t *testing.T) {
	s := statetest.ArchivingState(t)
	statetest.InCluster(&s, false)
	a := &Archiver{spec: *SpecOf(s)}
	found := v1beta2.EtcdCluster{Status: v1beta2.EtcdClusterStatus{LastRevision: 42}}
	s.Cluster.LastRevision = state.ClusterOf(&found).LastRevision
	if !a.accepts(*SpecOf(s)) || a.current().fence != 42 {
		t.Errorf("the archiver has the fence %d, want 42", a.current().fence)
	}
}
