package state

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Archived returns whether an archiver is to run.
func (s State) Archived() bool { return archivesCluster(s) && !s.Recovering() }

// archivesCluster returns whether an archiver is to run, whether or not the cluster is being recovered from a lost quorum.
func archivesCluster(s State) bool {
	switch {
	case s.Spec.Continuous == nil || !s.Series() || s.Problem != nil || s.Refused != nil || s.Deleting && !HandingOver(s) || s.Spec.BackupPolicy.Suspend && s.Status.Switchover == nil:
		return false
	case s.Spec.DeletionPolicy == v1beta2.DeletionDelete && !s.Held:
		return false // nothing is written that the finalizer would protect
	case s.Spec.EtcdCluster != nil:
		return s.Cluster != nil && len(s.Cluster.ClientURLs) > 0 && !s.Cluster.Hibernated
	}
	return true
}

// HandsOver reports whether the cluster is to hand its clients over. The deletion of the EtcdBackup calls that off.
func HandsOver(s State) bool {
	return s.Spec.Continuous != nil && s.Spec.Continuous.Switchover && !s.Deleting
}

// HandingOver reports whether a switchover is in progress: the cluster may refuse writes, and only the archiver can end that.
func HandingOver(s State) bool {
	return s.Status.Switchover != nil && s.Status.Switchover.Phase != v1beta2.SwitchoverPromoted
}

// Recovering reports whether the archiver rests only because its cluster is recovered from a lost quorum.
func (s State) Recovering() bool {
	return archivesCluster(s) && s.Cluster != nil && s.Cluster.Recovering
}

// BaseWanted returns whether the archiver needs a snapshot now.
func (s State) BaseWanted() bool { return s.Archive != nil && s.Archive.Want != "" && s.Archived() }

// everArchived returns whether there may be an archive in the store.
func everArchived(s State) bool {
	return s.Spec.Continuous != nil || ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiving) != nil
}

// ConditionOf returns the condition of that kind, and nil if there is none.
func ConditionOf(conditions []metav1.Condition, kind string) *metav1.Condition {
	return meta.FindStatusCondition(conditions, kind)
}
