package state

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// StalledCluster returns the condition of a cluster that is Stalled, and nil for any other.
func (s State) StalledCluster() *metav1.Condition {
	if s.Cluster == nil || !meta.IsStatusConditionTrue(s.Cluster.Status.Conditions, v1beta2.ConditionStalled) {
		return nil
	}
	return meta.FindStatusCondition(s.Cluster.Status.Conditions, v1beta2.ConditionStalled)
}

// HelpNeeded quotes why a cluster is Stalled.
func HelpNeeded(who string, stalled *metav1.Condition) string {
	return planning.Sentence(fmt.Sprintf("%s needs your help (%s): ", who, stalled.Reason), stalled.Message)
}
