package status

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// archive reports the continuous archive in every pass.
func (r *reporter) archive() {
	if r.s.Spec.Continuous == nil {
		r.out.Recoverable = nil
		if r.Find(v1beta2.ConditionArchiving) != nil {
			r.False(v1beta2.ConditionArchiving, v1beta2.ReasonArchiveStopped,
				"You removed spec.continuous. The archive is still in the store, but retention no longer keeps snapshots for it.")
		}
		return
	}
	moved := r.s.MovedArchive()
	if moved && r.s.Fresh() {
		r.s.Archive = nil // it is the view of the archiver that the spec had before
	}
	switch a := r.s.Archive; {
	case a != nil && a.Surveyed:
		r.out.Recoverable = plan.Recoverable(*a)
	case moved:
		r.out.Recoverable = nil
	}
	status, reason, message := archiveCondition(r.s, *r.out)
	if reason != "" {
		r.Set(v1beta2.ConditionArchiving, status, reason, message)
	}
}

// notRunning are the reasons of Archiving while no archiver was to run.
var notRunning = []string{v1beta2.ReasonSuspended, v1beta2.ReasonArchiveStopped, v1beta2.ReasonClusterNotAvailable}

// archiveCondition returns the condition Archiving. An empty reason keeps what was reported before.
func archiveCondition(s state.State, out v1beta2.EtcdBackupStatus) (status metav1.ConditionStatus, reason, message string) {
	if !s.Archived() {
		return notArchived(s)
	}
	a := s.Archive
	switch {
	case a == nil || !a.Begun:
		return archiveStarting(s, out)
	case a.Failure != nil && a.Failures >= state.FailuresTolerated:
		return failedArchive(*a.Failure)
	case a.Delayed > 0:
		return metav1.ConditionFalse, v1beta2.ReasonArchiveDelayed, delayedArchive(*a, out.Recoverable)
	case a.Unread != "":
		return unreadArchive(*a)
	case !a.Surveyed:
		return archiveStarting(s, out)
	case a.Holes != "":
		return metav1.ConditionFalse, v1beta2.ReasonArchiveCorrupt, holedArchive(*a, out.Recoverable)
	case !a.Covered && a.Replace.After(s.Now):
		return metav1.ConditionFalse, v1beta2.ReasonArchiveIncomplete,
			"The newest changes are archived, but they cannot be restored before the next snapshot." + replaced(*a) + until(out.Recoverable)
	case !a.Covered:
		return metav1.ConditionFalse, v1beta2.ReasonArchiveIncomplete,
			"The newest changes are archived, but they cannot be restored before the next snapshot. The operator takes one now." + until(out.Recoverable)
	}
	return metav1.ConditionTrue, v1beta2.ReasonArchiving, remarks("All changes are archived."+until(out.Recoverable), *a)
}

// archiveStarting returns the condition before the archiver archives. For a minute it keeps what was reported before: the operator has
// just started, or members restart.
func archiveStarting(s state.State, out v1beta2.EtcdBackupStatus) (status metav1.ConditionStatus, reason, message string) {
	a, before := s.Archive, state.ConditionOf(out.Conditions, v1beta2.ConditionArchiving)
	idle := a != nil && !a.Idle.IsZero() && s.Now.Sub(a.Idle) >= state.ArchivePatience
	switch {
	case a != nil && a.Failure != nil && (idle || a.Failures >= state.FailuresTolerated):
		status, reason, message = failedArchive(*a.Failure)
		return status, reason, message + unseen(out.Recoverable)
	case a != nil && !a.Begun && a.Want != "":
		return metav1.ConditionFalse, v1beta2.ReasonArchiveStarting, planning.Sentence("The archive waits for a snapshot: ", a.Want)
	case idle:
		return metav1.ConditionFalse, v1beta2.ReasonArchiveStarting, fmt.Sprintf("Nothing has been archived since %s. The operator waits for the store, "+
			"the members or space in its spool volume.", state.Stamp(a.Idle)) + until(out.Recoverable)
	case before != nil && !slices.Contains(notRunning, before.Reason) && !s.MovedArchive():
		return "", "", ""
	}
	return metav1.ConditionFalse, v1beta2.ReasonArchiveStarting, "The operator reads where the archive ends."
}

// notArchived says why no archiver is to run.
func notArchived(s state.State) (status metav1.ConditionStatus, reason, message string) {
	switch {
	case s.Refused != nil && !s.Deleting:
		return metav1.ConditionFalse, s.Refused.Reason, s.Refused.Message + " Nothing is archived until then. If etcd is compacted before, changes are missing in the archive."
	case s.Problem != nil || s.Deleting || !s.Series():
		return metav1.ConditionFalse, v1beta2.ReasonArchiveStopped, "The operator archives nothing. See the condition Ready."
	case s.Spec.BackupPolicy.Suspend:
		return metav1.ConditionFalse, v1beta2.ReasonSuspended, "The operator archives nothing, because backupPolicy.suspend is true. If etcd is compacted until it continues, changes are missing in the archive."
	case s.Spec.EtcdCluster != nil && (s.Cluster == nil || len(s.Cluster.ClientURLs) == 0):
		return metav1.ConditionFalse, v1beta2.ReasonClusterNotAvailable, fmt.Sprintf("The status of EtcdCluster %s lists no member, so the operator archives nothing.", s.Spec.EtcdCluster.Name)
	case s.Spec.EtcdCluster != nil && s.Cluster.Hibernated:
		return metav1.ConditionFalse, v1beta2.ReasonClusterNotAvailable, fmt.Sprintf("EtcdCluster %s hibernates, so there is nothing to archive. The archive continues when it is resumed.", s.Spec.EtcdCluster.Name)
	case s.Spec.EtcdCluster != nil && s.Cluster.Recovering:
		return metav1.ConditionFalse, v1beta2.ReasonClusterNotAvailable, fmt.Sprintf("EtcdCluster %s recovers from a lost quorum. The archive continues when a member serves.", s.Spec.EtcdCluster.Name)
	}
	return "", "", "" // the finalizer is set in this pass
}
