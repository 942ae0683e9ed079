package observed

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// IsTrue reports whether a condition is True.
func IsTrue(conditions []metav1.Condition, kind string) bool {
	return meta.IsStatusConditionTrue(conditions, kind)
}

// HasReason reports whether the condition Ready has this reason.
func HasReason(conditions []metav1.Condition, reason string) bool {
	ready := meta.FindStatusCondition(conditions, v1beta2.ConditionReady)
	return ready != nil && ready.Reason == reason
}
