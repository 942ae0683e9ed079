package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// warmed is what to do if a lifecycle rule moved objects of the archive.
const warmed = "exclude the folder continuous-archive/ from the rule, and move them back to a class that can be read"

// unseen says that the operator does not read the archive while no archiver can begin. It is empty if nothing is listed.
func unseen(ranges []v1beta2.RecoverableRange) string {
	if len(ranges) == 0 {
		return ""
	}
	return " Until then the operator does not read the archive, so status.recoverable may list points that cannot be restored any more."
}

func failedArchive(f state.Failure) (status metav1.ConditionStatus, reason, message string) {
	return metav1.ConditionFalse, f.Reason, f.Message + " Nothing is archived until then. The operator tries again within a minute."
}

// until names the end of the newest range as the status shows it.
func until(ranges []v1beta2.RecoverableRange) string {
	if len(ranges) == 0 {
		return ""
	}
	to := ranges[len(ranges)-1].To
	return fmt.Sprintf(" Revision %d of %s can be restored.", to.Revision, state.Stamp(to.Time.Time))
}

func delayedArchive(a state.Archive, ranges []v1beta2.RecoverableRange) string {
	message := "Some changes are not in the store yet. If the cluster is lost now, they are lost with it." + until(ranges)
	if a.StoreError != "" {
		message += planning.Sentence(" The last upload failed: ", a.StoreError)
	}
	return message + " Check the store, the network, the load of backup-operator, and whether a member of etcd is slow."
}

// holedArchive says which archived changes cannot be restored, and what to do.
func holedArchive(a state.Archive, ranges []v1beta2.RecoverableRange) string {
	return fmt.Sprintf("Some archived changes cannot be restored: %s. New changes are archived, and status.recoverable lists what can be restored.%s "+
		"If a lifecycle rule moved objects to such a class, %s. If segments are missing, copy them back from a replica or an earlier version. "+
		"The condition is True again when the store returns the objects, or when the segments are older than the window.", a.Holes, until(ranges), warmed) + replaced(a)
}

// unreadArchive says that it is not known what can be restored, and what to do.
func unreadArchive(a state.Archive) (status metav1.ConditionStatus, reason, message string) {
	reason = v1beta2.ReasonArchiveIncomplete
	means := " Changes are stored, but status.recoverable may list points that cannot be restored."
	switch {
	case a.Corrupt:
		reason = v1beta2.ReasonArchiveCorrupt
	case !a.Surveyed:
		reason, means = v1beta2.ReasonArchiveStarting, " Changes are stored, but the operator does not know yet what can be restored."
	}
	return metav1.ConditionFalse, reason, a.Unread + means + " The operator tries again within a minute. If a lifecycle rule moved objects to an archive tier, " + warmed + "."
}

// replaced reports when the operator replaces a newest snapshot that failed its restore test. It is empty if that has passed, or was not tested.
func replaced(a state.Archive) string {
	if a.Replace.IsZero() {
		return ""
	}
	when := "now"
	if a.Want == "" {
		when = "at " + state.Stamp(a.Replace)
	}
	return " The newest snapshot failed its restore test, so it does not prove the archive. The operator takes another one " + when + "."
}

func remarks(message string, a state.Archive) string {
	message += replaced(a)
	for _, remark := range []string{a.Unpruned, a.Advice} {
		if remark != "" {
			message += " " + remark
		}
	}
	return message
}
