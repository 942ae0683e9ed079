package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// CopyEvents reports that the second location is not allowed, when the status says it first.
func CopyEvents(before, after v1beta2.EtcdBackupStatus) []planning.Event {
	was, is := state.ConditionOf(before.Conditions, v1beta2.ConditionCopied), state.ConditionOf(after.Conditions, v1beta2.ConditionCopied)
	if is == nil || !grant.Refused(is.Reason) || was != nil && was.Reason == is.Reason {
		return nil
	}
	return []planning.Event{plan.NewEvent(corev1.EventTypeWarning, is.Reason, plan.ActionCopy, is.Message)}
}

// lostTimeline reports whether changes before a timeline are lost, see archive.Start.
func lostTimeline(a state.Archive, timeline int64) bool {
	return slices.ContainsFunc(a.Ranges, func(r archive.Range) bool { return int64(r.Timeline) == timeline && r.Lost })
}

// ArchiveEvents reports lost changes, new timelines, and an archive that stops or continues.
func ArchiveEvents(before, after v1beta2.EtcdBackupStatus, view *state.Archive) (events []planning.Event) {
	if n, m := len(before.Recoverable), len(after.Recoverable); n > 0 && m > 0 {
		was, is := before.Recoverable[n-1], after.Recoverable[m-1]
		lost := is.Timeline == was.Timeline || view != nil && lostTimeline(*view, is.Timeline)
		if lost && is.From.Revision > was.To.Revision {
			events = append(events, plan.NewEvent(corev1.EventTypeWarning, "ChangesLost", plan.ActionArchive, fmt.Sprintf(
				"The changes between revision %d and revision %d cannot be restored, because they are not in the archive.", was.To.Revision, is.From.Revision)))
		}
		if is.Timeline > was.Timeline {
			why := "the cluster has another history than before."
			if lost {
				why = "etcd or the store does not return the end of the archive any more, so the archive cannot continue after it."
			}
			events = append(events, plan.NewEvent(corev1.EventTypeNormal, "TimelineBegun", plan.ActionArchive, fmt.Sprintf("Timeline %d begins at revision %d: %s", is.Timeline, is.From.Revision, why)))
		}
	}
	was, is := state.ConditionOf(before.Conditions, v1beta2.ConditionArchiving), state.ConditionOf(after.Conditions, v1beta2.ConditionArchiving)
	if was == nil || is == nil || was.Status == is.Status {
		return events
	}
	kind := corev1.EventTypeWarning
	if is.Status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	return append(events, plan.NewEvent(kind, is.Reason, plan.ActionArchive, is.Message))
}
