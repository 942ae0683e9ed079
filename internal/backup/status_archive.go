package backup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// archiveInterval is the shortest time between two updates of the end of the archive in the status.
const archiveInterval = time.Minute

func conditionOf(conditions []metav1.Condition, kind string) *metav1.Condition {
	return meta.FindStatusCondition(conditions, kind)
}

// archive reports the continuous archive in every pass.
func (r *reporter) archive() {
	if r.s.Spec.Continuous == nil {
		r.out.Recoverable = nil
		if conditionOf(r.out.Conditions, v1beta2.ConditionArchiving) != nil {
			r.set(v1beta2.ConditionArchiving, metav1.ConditionFalse, v1beta2.ReasonArchiveStopped,
				"You removed spec.continuous. The archive is still in the store, but retention no longer keeps snapshots for it.")
		}
		return
	}
	moved := r.s.movedArchive()
	if moved && r.s.fresh() {
		r.s.Archive = nil // it is the view of the archiver that the spec had before
	}
	switch a := r.s.Archive; {
	case a != nil && a.Surveyed:
		r.out.Recoverable = recoverable(r.out.Recoverable, a.Ranges, a.Begun, r.s.Now)
	case moved:
		r.out.Recoverable = nil
	}
	status, reason, message := r.s.archiveCondition(r.out)
	if reason != "" {
		r.set(v1beta2.ConditionArchiving, status, reason, message)
	}
}

// movedArchive returns whether the newest snapshot in the status is not in the folder of the spec. Then the archive that the status describes is
// not there either: a user has changed the store, the bucket, the path or the cluster.
func (s State) movedArchive() bool {
	newest := s.recorded()
	return s.Status.Snapshot != nil && s.Problem == nil && (newest == nil || !strings.HasPrefix(newest.Path, s.Target.Bucket+"/"+s.lives()))
}

// notRunning are the reasons of Archiving while no archiver was to run.
var notRunning = []string{v1beta2.ReasonSuspended, v1beta2.ReasonArchiveStopped, v1beta2.ReasonClusterNotAvailable}

// archiveCondition returns the condition Archiving. An empty reason keeps what was reported before.
func (s State) archiveCondition(out v1beta2.EtcdBackupStatus) (status metav1.ConditionStatus, reason, message string) {
	if !s.archived() {
		return s.notArchived()
	}
	a := s.Archive
	switch {
	case a == nil || !a.Begun:
		return s.archiveStarting(out)
	case a.Failure != nil && a.Failures >= archiveTolerated:
		return failedArchive(*a.Failure)
	case a.Delayed > 0:
		return metav1.ConditionFalse, v1beta2.ReasonArchiveDelayed, delayedArchive(*a, out.Recoverable)
	case a.Unread != "":
		return unreadArchive(*a)
	case !a.Surveyed:
		return s.archiveStarting(out)
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
func (s State) archiveStarting(out v1beta2.EtcdBackupStatus) (status metav1.ConditionStatus, reason, message string) {
	a, before := s.Archive, conditionOf(out.Conditions, v1beta2.ConditionArchiving)
	idle := a != nil && !a.Idle.IsZero() && s.Now.Sub(a.Idle) >= archivePatience
	switch {
	case a != nil && a.Failure != nil && (idle || a.Failures >= archiveTolerated):
		return failedArchive(*a.Failure)
	case a != nil && !a.Begun && a.Want != "":
		return metav1.ConditionFalse, v1beta2.ReasonArchiveStarting, planning.Sentence("The archive waits for a snapshot: ", a.Want)
	case idle:
		return metav1.ConditionFalse, v1beta2.ReasonArchiveStarting, fmt.Sprintf("Nothing has been archived since %s. The operator waits for the store, "+
			"the members or space in its spool volume.", stamp(a.Idle)) + until(out.Recoverable)
	case before != nil && !slices.Contains(notRunning, before.Reason) && !s.movedArchive():
		return "", "", ""
	}
	return metav1.ConditionFalse, v1beta2.ReasonArchiveStarting, "The operator reads where the archive ends."
}

func failedArchive(f Failure) (status metav1.ConditionStatus, reason, message string) {
	return metav1.ConditionFalse, f.Reason, f.Message + " Nothing is archived until then. The operator tries again within a minute."
}

// notArchived says why no archiver is to run.
func (s State) notArchived() (status metav1.ConditionStatus, reason, message string) {
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

// until names the end of the newest range as the status shows it.
func until(ranges []v1beta2.RecoverableRange) string {
	if len(ranges) == 0 {
		return ""
	}
	to := ranges[len(ranges)-1].To
	return fmt.Sprintf(" Revision %d of %s can be restored.", to.Revision, stamp(to.Time.Time))
}

func delayedArchive(a Archive, ranges []v1beta2.RecoverableRange) string {
	message := "Some changes are not in the store yet. If the cluster is lost now, they are lost with it." + until(ranges)
	if a.StoreError != "" {
		message += planning.Sentence(" The last upload failed: ", a.StoreError)
	}
	return message + " Check the store, the network, the load of backup-operator, and whether a member of etcd is slow."
}

// holedArchive says which archived changes cannot be restored, and what to do.
func holedArchive(a Archive, ranges []v1beta2.RecoverableRange) string {
	return fmt.Sprintf("Some archived changes cannot be restored: %s. New changes are archived, and status.recoverable lists what can be restored.%s "+
		"If a lifecycle rule moved objects to such a class, %s. If segments are missing, copy them back from a replica or an earlier version. "+
		"The condition is True again when the store returns the objects, or when the segments are older than the window.", a.Holes, until(ranges), warmed) + replaced(a)
}

// warmed is what to do if a lifecycle rule moved objects of the archive.
const warmed = "exclude the folder continuous-archive/ from the rule, and move them back to a class that can be read"

// unreadArchive says that it is not known what can be restored, and what to do.
func unreadArchive(a Archive) (status metav1.ConditionStatus, reason, message string) {
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
func replaced(a Archive) string {
	if a.Replace.IsZero() {
		return ""
	}
	when := "now"
	if a.Want == "" {
		when = "at " + stamp(a.Replace)
	}
	return " The newest snapshot failed its restore test, so it does not prove the archive. The operator takes another one " + when + "."
}

func remarks(message string, a Archive) string {
	message += replaced(a)
	for _, remark := range []string{a.Unpruned, a.Advice} {
		if remark != "" {
			message += " " + remark
		}
	}
	return message
}

// recoverable returns the ranges for the status. If only the end of the last one has moved, and by less than a minute, it
// keeps what was reported, so that the status is written at most once a minute. If the archiver does not run, the cluster may be
// lost, so the exact end is reported. So is an end in the future, from a clock that was ahead: its time does not move until then.
func recoverable(before []v1beta2.RecoverableRange, ranges []archive.Range, running bool, now time.Time) []v1beta2.RecoverableRange {
	after := make([]v1beta2.RecoverableRange, 0, len(ranges))
	for _, r := range ranges {
		shown := v1beta2.RecoverableRange{From: pointOf(r.From), To: pointOf(r.To), Timeline: int64(r.Timeline)}
		for _, hidden := range r.Hidden {
			shown.OnlyByTime = append(shown.OnlyByTime, v1beta2.RevisionRange(hidden))
		}
		after = append(after, shown)
	}
	if n := len(after); running && n > 0 && n == len(before) {
		last := after[n-1]
		last.To = before[n-1].To
		moved := after[n-1].To.Time.Sub(before[n-1].To.Time.Time)
		stands := moved == 0 && last.To.Time.After(now)
		same := slices.Equal(last.OnlyByTime, before[n-1].OnlyByTime)
		same = same && last.Timeline == before[n-1].Timeline && last.From.Revision == before[n-1].From.Revision && moved >= 0 && moved < archiveInterval && !stands
		for i := range n - 1 {
			same = same && after[i].Timeline == before[i].Timeline && after[i].From.Revision == before[i].From.Revision && after[i].To.Revision == before[i].To.Revision &&
				slices.Equal(after[i].OnlyByTime, before[i].OnlyByTime)
		}
		if same {
			return before
		}
	}
	return after
}

// archiveReport returns when to look at the archive again. The end of the archive is up to maxLag old when it is read. So a
// pass exactly a minute after the last one could find that the end has moved by less than a minute, and report nothing.
func (s State) archiveReport() time.Duration {
	if s.Archive == nil {
		return archiveInterval
	}
	reported := recoverable(s.Status.Recoverable, s.Archive.Ranges, s.Archive.Begun, s.Now)
	if len(reported) == 0 {
		return archiveInterval
	}
	due := reported[len(reported)-1].To.Time.Add(archiveInterval + maxLag(s.Spec.Continuous) + time.Second)
	return min(max(due.Sub(s.Now), archiveInterval/4), archiveInterval+archiveInterval/4)
}

func pointOf(p archive.Point) v1beta2.RecoverablePoint {
	return v1beta2.RecoverablePoint{Revision: p.Revision, Time: *second(p.At)}
}

const actionArchive = "Archive"

// lost reports whether changes before a timeline are lost, see archive.Start.
func (a Archive) lost(timeline int64) bool {
	return slices.ContainsFunc(a.Ranges, func(r archive.Range) bool { return int64(r.Timeline) == timeline && r.Lost })
}

// archiveEvents reports lost changes, new timelines, and an archive that stops or continues.
func archiveEvents(before, after v1beta2.EtcdBackupStatus, view *Archive) (events []planning.Event) {
	if n, m := len(before.Recoverable), len(after.Recoverable); n > 0 && m > 0 {
		was, is := before.Recoverable[n-1], after.Recoverable[m-1]
		lost := is.Timeline == was.Timeline || view != nil && view.lost(is.Timeline)
		if lost && is.From.Revision > was.To.Revision {
			events = append(events, newEvent(corev1.EventTypeWarning, "ChangesLost", actionArchive, fmt.Sprintf(
				"The changes between revision %d and revision %d cannot be restored, because they are not in the archive.", was.To.Revision, is.From.Revision)))
		}
		if is.Timeline > was.Timeline {
			why := "the cluster has another history than before."
			if lost {
				why = "etcd or the store does not return the end of the archive any more, so the archive cannot continue after it."
			}
			events = append(events, newEvent(corev1.EventTypeNormal, "TimelineBegun", actionArchive, fmt.Sprintf("Timeline %d begins at revision %d: %s", is.Timeline, is.From.Revision, why)))
		}
	}
	was, is := conditionOf(before.Conditions, v1beta2.ConditionArchiving), conditionOf(after.Conditions, v1beta2.ConditionArchiving)
	if was == nil || is == nil || was.Status == is.Status {
		return events
	}
	kind := corev1.EventTypeWarning
	if is.Status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	return append(events, newEvent(kind, is.Reason, actionArchive, is.Message))
}
