package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/schedule"
)

// RetryAt returns when the attempt after a failed one is due. If the snapshot is in the store and only its restore test could
// not be carried out, the operator repeats the test less often, because each test reads the whole snapshot. It still takes
// the next snapshot of a series in time.
func RetryAt(s state.State, a state.Attempt) time.Time {
	at := a.Result.EndedAt.Add(pauseAfter(s, a))
	if !untested(*a.Result) {
		return at
	}
	later := a.Result.EndedAt.Add(TestDelay(a.Number))
	if r, err := state.ScheduleOf(s.Spec); err == nil && s.Series() {
		taken := a.Result.Untested
		if taken.IsZero() {
			taken = a.StartedAt
		}
		if next := state.Spread(r, r.Next(taken), s.UID, s.ScheduleJitter()); !next.IsZero() && next.Before(later) {
			later = next
		}
	}
	if later.Before(at) {
		return at
	}
	return later
}

// SnapshotTurn returns when the next snapshot of the series is due. It is not after Now if one is due. It depends on the newest
// snapshot and not on a timer: a restart changes nothing, and several missed snapshots are replaced by one.
func SnapshotTurn(s state.State) time.Time {
	r, err := state.ScheduleOf(s.Spec)
	if err != nil || s.Asked() {
		return s.Now
	}
	since, found := s.Newest()
	if !found && (s.Spec.BackupPolicy.Schedule == "" || s.Spec.BackupPolicy.Immediate) {
		return s.Now // the first snapshot of an interval is due at once
	}
	if !found {
		since = s.CreatedAt
	}
	due := func(tick time.Time) time.Time { return state.Spread(r, tick, s.UID, s.ScheduleJitter()) }
	last, missed := r.Last(since, s.Now)
	if first := r.Next(since); !missed || s.Now.Before(due(first)) {
		return due(first)
	}
	if limit := s.Spec.BackupPolicy.StartingDeadlineSeconds; limit != nil && s.Now.Sub(due(last)) > state.Seconds(*limit) {
		return due(r.Next(last))
	}
	return last
}

// Overdue returns when a series has missed two snapshots since its newest one, or since it was created. It is zero for a series that
// is suspended, and for a single snapshot.
func Overdue(s state.State) time.Time {
	since, found := s.Newest()
	if !found {
		since = s.CreatedAt
	}
	return OverdueSince(s, since)
}

// OverdueSince returns when a series has missed two snapshots since a time.
func OverdueSince(s state.State, since time.Time) time.Time {
	r, err := state.ScheduleOf(s.Spec)
	if err != nil || !s.Series() || s.Suspended() {
		return time.Time{}
	}
	first := r.Next(since)
	if first.IsZero() {
		return first
	}
	return r.Next(first)
}

// drillTurn returns when the next restore test is due. It is zero if none ever is.
func drillTurn(s state.State) time.Time {
	if !s.Drillable() {
		return time.Time{}
	}
	if !s.Fresh() && s.Status.DrillAttempts > 0 && s.Status.NextDrillTime != nil {
		if at := s.Status.NextDrillTime.Time; !clock.Ahead(at, s.Now.Add(lastTestDelay)) {
			return at
		}
		return s.Now
	}
	r, err := schedule.Parse(s.Spec.Drill.Schedule, s.Spec.Drill.TimeZone)
	if err != nil {
		return time.Time{}
	}
	since := s.CreatedAt
	if d := s.Status.LastDrill; d != nil && !clock.Ahead(d.Time.Time, s.Now) {
		since = d.Time.Time
	}
	if last, missed := r.Last(since, s.Now); missed && !s.Now.Before(state.Spread(r, r.Next(since), s.UID, s.Jitter)) {
		return last
	}
	return state.Spread(r, r.Next(since), s.UID, s.Jitter)
}

// TestTurn returns when the next restore test is due: by its schedule, or for the proof of the archive after each snapshot. It is zero if
// none ever is.
func TestTurn(s state.State) time.Time {
	at := drillTurn(s)
	if !state.ProofWanted(s) {
		return at
	}
	due := s.Now
	if next := s.Status.NextDrillTime; !s.Fresh() && s.Status.DrillAttempts > 0 && next != nil && !clock.Ahead(next.Time, s.Now.Add(lastTestDelay)) {
		due = next.Time
	}
	if at.IsZero() || due.Before(at) {
		return due
	}
	return at
}
