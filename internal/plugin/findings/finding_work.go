package findings

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

func restoreFindings(about Subject, r v1beta2.EtcdRestore) []Finding {
	object := "EtcdRestore " + r.Name
	ready := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionReady)
	switch {
	case ready == nil:
		return []Finding{unseen(object, about, "restore-operator")}
	case ready.Status == metav1.ConditionTrue, observed.IsTrue(r.Status.Conditions, v1beta2.ConditionComplete), ready.Reason == v1beta2.ReasonDryRun:
		return nil
	}
	return append([]Finding{finding(workSeverity(r.Status.Conditions, *ready), object, about, *ready)}, standbyFindings(object, about, r)...)
}

func backupFindings(about Subject, b v1beta2.EtcdBackup, now time.Time) []Finding {
	object := "EtcdBackup " + b.Name
	conditions := b.Status.Conditions
	ready := meta.FindStatusCondition(conditions, v1beta2.ConditionReady)
	if ready == nil {
		return []Finding{unseen(object, about, "backup-operator")}
	}
	var found []Finding
	if ready.Status != metav1.ConditionTrue {
		found = append(found, finding(workSeverity(conditions, *ready), object, about, *ready))
	}
	if at := b.Status.NextTime; at != nil && ready.Status == metav1.ConditionTrue && now.Sub(at.Time) > overdue {
		found = append(found, late(object, about, now, at.Time))
	}
	for _, kind := range []string{v1beta2.ConditionVerified, v1beta2.ConditionCopied, v1beta2.ConditionArchiveCopied, v1beta2.ConditionPruned} {
		c := meta.FindStatusCondition(conditions, kind)
		if c != nil && c.Reason != v1beta2.ReasonArchiveStopped && c.Status == metav1.ConditionFalse && c.Reason != ready.Reason && !slices.Contains(progressing, c.Reason) {
			found = append(found, finding(Degraded, object, about, *c))
		}
	}
	return slices.Concat(found, archiveFindings(object, about, conditions), switchoverFindings(object, b))
}

// archiveFindings returns why a continuous archive does not have all changes. The condition Ready of its EtcdBackup may be True.
func archiveFindings(object string, about Subject, conditions []metav1.Condition) []Finding {
	c := meta.FindStatusCondition(conditions, v1beta2.ConditionArchiving)
	asked := []string{v1beta2.ReasonSuspended, v1beta2.ReasonArchiveStopped} // by the spec, or Ready has the cause
	if c == nil || c.Status == metav1.ConditionTrue || slices.Contains(asked, c.Reason) {
		return nil
	}
	return []Finding{finding(workSeverity(nil, *c), object, about, *c)}
}

// overdue is how late an attempt may begin: other EtcdBackups may be first.
const overdue = 10 * time.Minute

// late reports an attempt that has not begun. No operator writes that, because the one that would is the one that does not run.
func late(object string, about Subject, now, due time.Time) Finding {
	found := unseen(object, about, "backup-operator")
	found.Severity = Degraded
	found.Problem = fmt.Sprintf("The snapshot that was due at %s has not begun, which is %s.", due.UTC().Format(time.RFC3339), terminal.Ago(now, due))
	found.Impact = "No snapshot is taken. If the cluster is lost now, all that was written since the newest snapshot is lost with it."
	return found
}

func workSeverity(conditions []metav1.Condition, ready metav1.Condition) Severity {
	switch {
	case observed.IsTrue(conditions, v1beta2.ConditionFailed):
		return Failed
	case observed.IsTrue(conditions, v1beta2.ConditionStalled):
		return Blocked
	case slices.Contains(progressing, ready.Reason):
		return Progress
	}
	return Degraded
}

// outdated returns whether a backup failed once and a later snapshot of the cluster exists.
func outdated(b v1beta2.EtcdBackup, all []v1beta2.EtcdBackup) bool {
	failed := meta.FindStatusCondition(b.Status.Conditions, v1beta2.ConditionFailed)
	if failed == nil || failed.Status != metav1.ConditionTrue {
		return false
	}
	return slices.ContainsFunc(all, func(other v1beta2.EtcdBackup) bool {
		return other.Status.LastSuccessDate != nil && other.Status.LastSuccessDate.After(failed.LastTransitionTime.Time)
	})
}
