package copying

import (
	"errors"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// report updates the view, and tells the controller if it has another shape. err is why the last step failed, and wait is the pause after it.
func (w *copying) report(err error, wait time.Duration) {
	now, spec := w.job.Now(), w.current()
	w.reported = now
	status := archive.Chain{}
	begun, ranges, covered := false, []archive.Range(nil), false
	if w.Follower != nil {
		if status, begun = w.At(); begun {
			w.reached(status, now)
		}
		ranges, covered = inventory.Extended(w.shown.survey, w.copiedStatus())
	}
	lag, known := w.lag(status, now)
	w.job.metrics.lags(w.key.Object, lag, known)
	if lag <= 2*spec.maxLag+limits.Slack {
		lag = 0
	}
	w.mu.Lock()
	v := &w.view
	v.Begun, v.Surveyed, v.Covered, v.Ranges, v.Delayed = begun, w.shown.known, covered, ranges, lag
	switch {
	case begun:
		v.Idle = time.Time{}
	case v.Idle.IsZero():
		v.Idle = now
	}
	v.Failures, v.Failure, v.RetryAt = w.failed, nil, time.Time{}
	if err != nil {
		v.Failure, v.RetryAt = classifyCopy(err, spec.job), now.Add(wait)
	}
	v.Lacking = w.lackingNames(spec)
	next := copyShape{
		v.Begun, v.Covered, v.Surveyed, lag > 0, v.Failures >= state.FailuresTolerated,
		v.Lacking, v.Unread, v.Unpruned, reasonOf(v.Failure), len(ranges), status.Timeline,
	}
	w.mu.Unlock()
	if next != w.shape {
		w.shape = next
		w.notify()
	}
}

// advanced reports that an object was copied, at most once a second: there may be many of them after an outage.
func (w *copying) advanced(bytes int64) {
	w.job.metrics.copied(w.key.Object, bytes)
	if w.job.Now().Sub(w.reported) >= limits.Interval {
		w.report(nil, 0)
	}
}

func reasonOf(f *state.Failure) string {
	if f == nil {
		return ""
	}
	return f.Reason
}

// lackingNames names what the first location does not return. It is empty if that returns all.
func (w *copying) lackingNames(spec Spec) string {
	if w.Follower == nil {
		return ""
	}
	n, first := w.Lacking()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("The first location does not return %d objects of the archive, such as %s, so the second one lacks them.", n, first.Key(spec.job.ArchiveRoot()))
}

// ofSource marks an error of the first location.
func ofSource(err error) error { return fmt.Errorf("%w: %w", follower.ErrSource, err) }

// classifyCopy turns the error of a copy into a Failure that names the right location.
func classifyCopy(err error, o state.JobSpec) *state.Failure {
	second := o.CopiedArchive()
	switch {
	case errors.Is(err, follower.ErrOtherCopy):
		return &state.Failure{Reason: v1beta2.ReasonArchiveFenced, Message: fmt.Sprintf("The archive is not copied: %v. Another archive is in %s in the bucket %s, and the operator never replaces an object. "+
			"Move that folder away, or write another path into copyTo.", err, second.ArchiveRoot(), second.Target.Bucket)}
	case !errors.Is(err, follower.ErrSource):
		o = second
	}
	o.Kind = state.KindArchiveCopy
	return failure.Classify(err, o, false)
}

// copiedStatus is the end of the copy, in the words of an archiver.
func (w *copying) copiedStatus() archiver.Status {
	at, synced := w.At()
	if !synced {
		return archiver.Status{}
	}
	end := archive.Point{Revision: at.Last, At: at.At}
	copied := archiver.Status{Timeline: at.Timeline, Stored: end, Progress: end, Unbroken: at.Unbroken}
	if head := w.offered(); head.Timeline == at.Timeline && head.Progress.Revision == at.Last {
		copied.Progress = head.Progress // there was no change since
	}
	return copied
}
