package cluster

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// unsaid is how long the status may lack what the operator does while a cluster starts.
const unsaid = 10 * time.Second

// saysLater says whether the status is left to the next pass. While a cluster starts, the steps follow each other at once, and who
// reads the status learns nothing from each. The next pass sees what the step made, so nothing is lost. Steps that create objects of
// members are reported at once: until then the cache shows those objects, so that no pass creates them again. A cluster that has formed
// starts until its status first says that a quorum serves.
func saysLater(v *view.View, step steps.Step, actErr error, reported time.Time) bool {
	started := v.ClusterID != "" && v.Cluster.Status.Phase != v1beta2.ClusterPhaseCreating
	if started || actErr != nil || failure.RefusalsOf(v) != nil || v.Cluster.Status.ObservedGeneration != v.Cluster.Generation ||
		reported.IsZero() || v.Now.Sub(reported) >= unsaid {
		return false
	}
	switch step.(type) {
	case steps.CreateCA, steps.RequestCertificates, steps.WriteCertificates, steps.ApplyServices, steps.ApplyNetworkPolicy, steps.ApplyBudget:
		return true
	}
	return false
}
