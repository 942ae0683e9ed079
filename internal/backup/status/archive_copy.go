package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// archive reports the copied archive in every pass.
func (r secondLocation) archive() {
	c := r.out.Copies
	if r.s.Spec.Continuous == nil || r.s.Spec.CopyTo == nil {
		if c != nil {
			c.Recoverable = nil
		}
		r.Remove(v1beta2.ConditionArchiveCopied)
		return
	}
	if c != nil && state.CopyMoved(r.s) {
		c.Recoverable = nil
	}
	switch a := r.s.ArchiveCopy; {
	case r.s.CopyProblem != nil:
		r.False(v1beta2.ConditionArchiveCopied, r.s.CopyProblem.Reason, r.s.CopyProblem.Message)
	case !state.ArchiveCopied(r.s):
		if before := r.Find(v1beta2.ConditionArchiveCopied); before != nil && !r.s.Deleting {
			r.False(v1beta2.ConditionArchiveCopied, v1beta2.ReasonArchiveStopped, "The operator does not copy the continuous archive. See the conditions Ready and Copied.")
		}
	case a != nil && c != nil:
		if a.Surveyed {
			moves := a.Begun && a.Failure == nil && r.s.Archive != nil && r.s.Archive.Begun // else the exact end is reported
			c.Recoverable = plan.CopyRecoverable(c.Recoverable, a.Ranges, moves, r.s.Now)
		}
		if status, reason, message := copyCondition(r.s, *a, *c); reason != "" {
			r.Set(v1beta2.ConditionArchiveCopied, status, reason, message)
		}
	}
}

// copyCondition returns the condition ArchiveCopied. An empty reason keeps what was reported before.
func copyCondition(s state.State, a state.ArchiveCopy, c v1beta2.BackupCopies) (status metav1.ConditionStatus, reason, message string) {
	before := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiveCopied)
	idle := !a.Idle.IsZero() && s.Now.Sub(a.Idle) >= state.ArchivePatience
	remarks := ""
	for _, remark := range []string{a.Lacking, a.Unpruned} {
		if remark != "" {
			remarks += " " + remark
		}
	}
	switch {
	case a.Failure != nil && a.Failures >= state.FailuresTolerated:
		return metav1.ConditionFalse, a.Failure.Reason, a.Failure.Message + " The first location is not affected. The operator tries again within " + copyPause(a) + "." + copiedUntil(c)
	case !a.Begun && !idle && before != nil && before.Reason != v1beta2.ReasonArchiveStopped:
		return "", "", "" // the operator has just started
	case !a.Begun:
		return metav1.ConditionFalse, v1beta2.ReasonCopying, "The operator copies the parts of the archive that the second location lacks, oldest first." + remarks
	case a.Delayed > 0:
		return metav1.ConditionFalse, v1beta2.ReasonArchiveDelayed, "The second location lacks changes that the first one has had for longer than twice maxLag. If the first location is lost now, they are lost with it." + copiedUntil(c) + " Check the second location and the network." + remarks
	case a.Unread != "":
		return metav1.ConditionFalse, v1beta2.ReasonArchiveIncomplete, a.Unread + " Changes are copied, but status.copies.recoverable may list points that cannot be restored. The operator tries again within a minute." + remarks
	case a.Lacking != "":
		return metav1.ConditionFalse, v1beta2.ReasonArchiveIncomplete, a.Lacking + " New changes are copied." + copiedUntil(c)
	case !a.Covered:
		return metav1.ConditionFalse, v1beta2.ReasonArchiveIncomplete, "The second location has the newest changes, but they cannot be restored from there before the next snapshot is copied." + copiedUntil(c) + remarks
	}
	return metav1.ConditionTrue, v1beta2.ReasonCopied, "The second location has all archived changes." + copiedUntil(c) + remarks
}

// copyPause names the longest pause after a failure.
func copyPause(a state.ArchiveCopy) string {
	if a.Failure.Reason == v1beta2.ReasonArchiveFenced {
		return "a minute"
	}
	return "10 seconds"
}

// copiedUntil names the end of the newest range in the second location as the status shows it.
func copiedUntil(c v1beta2.BackupCopies) string {
	if len(c.Recoverable) == 0 {
		return ""
	}
	to := c.Recoverable[len(c.Recoverable)-1].To
	return fmt.Sprintf(" Revision %d of %s can be restored from there.", to.Revision, state.Stamp(to.Time.Time))
}

// ArchiveCopyEvents reports a copy of the archive that fails or is complete again.
func ArchiveCopyEvents(before, after v1beta2.EtcdBackupStatus) []planning.Event {
	was, is := state.ConditionOf(before.Conditions, v1beta2.ConditionArchiveCopied), state.ConditionOf(after.Conditions, v1beta2.ConditionArchiveCopied)
	if was == nil || is == nil || was.Status == is.Status {
		return nil
	}
	kind := corev1.EventTypeWarning
	if is.Status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	return []planning.Event{plan.NewEvent(kind, is.Reason, plan.ActionCopy, is.Message)}
}
