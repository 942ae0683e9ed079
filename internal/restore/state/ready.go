package state

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Ready returns the Ready condition of the status, and nil if it is not set.
func (s State) Ready() *metav1.Condition {
	return meta.FindStatusCondition(s.Restore.Status.Conditions, v1beta2.ConditionReady)
}

// Retries returns whether the attempt follows a failed one that the status reports.
func (s State) Retries(attempt int32) bool {
	return attempt > 1 && s.Ready() != nil && s.Restore.Status.Reason != ""
}
