package archiving

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// publish updates the view. It notifies the controller if the view has another shape, or if the end of the archive is to be reported.
func (k *keeper) publish(status archiver.Status) {
	now := k.job.Now()
	ranges, covered := inventory.Extended(k.survey, status)
	delayed := status.Lag(now)
	if delayed <= k.current().maxLag+limits.Slack {
		delayed = 0
	}
	begun := status.Timeline > 0 && !status.Blocked
	reached := int64(0)
	if n := len(ranges); n > 0 && ranges[n-1].To.Revision >= k.base {
		reached = k.base
	}
	k.mu.Lock()
	v := &k.view
	v.Replace = k.replaceAt
	v.Begun, v.Surveyed, v.Covered, v.Ranges, v.Delayed, v.StoreError, v.Advice = begun, k.surveyed, covered, ranges, delayed, "", k.advice
	if status.StoreError != nil {
		v.StoreError = status.StoreError.Error()
	}
	if begun && (v.Failures < state.FailuresTolerated || now.Sub(k.began) >= archiveStable/2) {
		v.Failure, v.Failures = nil, 0
	}
	failing, unpruned, unread, holes := v.Failure != nil, v.Unpruned, v.Unread, v.Holes
	if begun {
		k.safeAt, k.archived, v.Idle = status.Safe, true, time.Time{}
	} else {
		k.idle(now)
	}
	next := shape{begun, covered, delayed > 0, failing, unpruned, unread, holes, len(ranges), status.Timeline, reached, k.replaceAt}
	news := next != k.shape
	pace := plan.Pace(k.job.places.Archives())
	if k.spec.fence > 0 {
		pace = 0 // no other change follows
	}
	if now := reportOf(ranges, now); news || k.reported.outdated(now, pace) {
		k.reported, news = now, true
	}
	v.Shown = k.reported.end
	k.mu.Unlock()
	k.job.metrics.count(k.key.Object, k.counted, status, now)
	k.job.copies.Offer(k.key, status)
	k.counted = status
	if k.shape = next; news {
		k.notify()
	}
}

// reportOf returns the end of the archive as it is now.
func reportOf(ranges []archive.Range, now time.Time) reported {
	n := len(ranges)
	if n == 0 {
		return reported{at: now}
	}
	last := ranges[n-1]
	return reported{last.Timeline, last.From.Revision, last.To, now}
}

// outdated returns whether another end is to be reported. A new revision is reported at most once in pace, and a later time of the same revision once
// a minute. An earlier end is reported at once, and so is any end if the clock was set back.
func (r reported) outdated(now reported, pace time.Duration) bool {
	switch {
	case now.timeline != r.timeline, now.from != r.from, now.end.Revision < r.end.Revision, now.end.At.Before(r.end.At), now.at.Before(r.at):
		return true
	case now.end.Revision > r.end.Revision:
		return now.at.Sub(r.at) >= pace-limits.Interval/2 // the keeper looks once in an interval
	}
	return now.end.At.Sub(r.end.At) >= plan.ArchiveInterval
}
