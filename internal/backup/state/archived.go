package state

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Archived returns whether an archiver is to run.
func (s State) Archived() bool { return s.archivesCluster() && !s.Recovering() }

// archivesCluster is archived, whether or not the cluster is being recovered from a lost quorum.
func (s State) archivesCluster() bool {
	switch {
	case s.Spec.Continuous == nil || !s.Series() || s.Problem != nil || s.Refused != nil || s.Deleting || s.Spec.BackupPolicy.Suspend:
		return false
	case s.Spec.DeletionPolicy == v1beta2.DeletionDelete && !s.Held:
		return false // nothing is written that the finalizer would protect
	case s.Spec.EtcdCluster != nil:
		return s.Cluster != nil && len(s.Cluster.ClientURLs) > 0 && !s.Cluster.Hibernated
	}
	return true
}

// ArchiveCopied returns whether the archive is to be copied to the second location. A copy needs neither the cluster nor a running archiver. It begins when
// the first snapshot was copied: before that, nothing of the archive could be restored there, and the two locations may be one.
func (s State) ArchiveCopied() bool {
	c := s.Status.Copies
	switch {
	case s.Spec.Continuous == nil || s.Spec.CopyTo == nil || !s.Series() || s.Deleting:
		return false
	case s.Problem != nil || s.Refused != nil || s.CopyProblem != nil:
		return false
	case s.Spec.DeletionPolicy == v1beta2.DeletionDelete && !s.Held:
		return false
	case c == nil || c.Newest == nil || !s.copiedHere(c.Newest.Path):
		return false
	}
	copied := ConditionOf(s.Status.Conditions, v1beta2.ConditionCopied)
	return copied == nil || copied.Reason != v1beta2.ReasonInvalidSpec
}

// CopyPrunes returns whether old parts of the copied archive may be deleted: the last copy of a snapshot has succeeded for this spec. It has compared both
// locations, so they are not one store under two names.
func (s State) CopyPrunes() bool {
	copied := ConditionOf(s.Status.Conditions, v1beta2.ConditionCopied)
	c := s.Status.Copies
	return copied != nil && copied.Status == metav1.ConditionTrue && copied.ObservedGeneration == s.Generation && c != nil && c.ObservedGeneration == s.Generation
}

// CopyMoved returns whether the copies that the status reports are not in the second location of the spec.
func (s State) CopyMoved() bool {
	c := s.Status.Copies
	return s.CopyProblem == nil && s.Problem == nil && c != nil && c.Newest != nil && !s.copiedHere(c.Newest.Path)
}

// copiedHere reports whether a path of a copied snapshot is in the second location of the spec.
func (s State) copiedHere(path string) bool {
	lives := snapshot.Series{Folder: s.CopyTarget.Key, Namespace: s.Namespace, Cluster: SourceName(s.Name, s.Spec)}.Lives()
	return strings.HasPrefix(path, s.CopyTarget.Bucket+"/"+lives)
}

// Recovering reports whether the archiver rests only because its cluster is recovered from a lost quorum.
func (s State) Recovering() bool {
	return s.archivesCluster() && s.Cluster != nil && s.Cluster.Recovering
}

// BaseWanted returns whether the archiver needs a snapshot now.
func (s State) BaseWanted() bool { return s.Archive != nil && s.Archive.Want != "" && s.Archived() }

// Rejudged returns whether a restore test has found a bad snapshot, or a good one after a bad one. Then the archive has other bases.
func (s State) Rejudged(drill *v1beta2.BackupDrill) bool {
	before := s.Status.LastDrill
	switch {
	case drill == nil:
		return false
	case before == nil:
		return drill.Result == v1beta2.DrillFailed
	case drill.Result == v1beta2.DrillFailed:
		return before.Result != drill.Result || before.Path != drill.Path
	}
	return before.Result == v1beta2.DrillFailed
}

// everArchived returns whether there may be an archive in the store.
func (s State) everArchived() bool {
	return s.Spec.Continuous != nil || ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiving) != nil
}

// ConditionOf returns the condition of that kind, and nil if there is none.
func ConditionOf(conditions []metav1.Condition, kind string) *metav1.Condition {
	return meta.FindStatusCondition(conditions, kind)
}
