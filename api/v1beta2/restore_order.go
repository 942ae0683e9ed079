package v1beta2

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
)

// A cluster carries out one EtcdRestore at a time. cluster-operator begins the first one in this order that may begin, and restore-operator names it
// in the status of those that wait. So both ask here.

// CompareRestores orders the EtcdRestores of a cluster: the oldest is first. If two are of the same second, their names decide.
func CompareRestores(a, b EtcdRestore) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// MayBegin returns whether a cluster may begin an EtcdRestore: it is open, verified, and has not failed.
func (r *EtcdRestore) MayBegin() bool {
	return r.Open() && r.Verified() && !meta.IsStatusConditionTrue(r.Status.Conditions, ConditionFailed)
}

// Open returns whether an EtcdRestore restores a whole cluster, is not complete, and is not being deleted.
func (r *EtcdRestore) Open() bool {
	complete := meta.IsStatusConditionTrue(r.Status.Conditions, ConditionComplete)
	return r.DeletionTimestamp.IsZero() && !complete && !r.Spec.DryRun && len(r.Spec.Prefixes) == 0
}

// Verified returns whether restore-operator has verified from where the cluster is filled.
func (r *EtcdRestore) Verified() bool {
	return meta.IsStatusConditionTrue(r.Status.Conditions, ConditionVerified) && r.Status.Snapshot != nil && r.Status.HasSource()
}

// Ended returns whether an EtcdRestore has failed or is complete.
func (r *EtcdRestore) Ended() bool {
	return meta.IsStatusConditionTrue(r.Status.Conditions, ConditionFailed) || meta.IsStatusConditionTrue(r.Status.Conditions, ConditionComplete)
}
