package schedule

import "time"

// next handles daylight saving time as cron does. A run at a fixed hour that the wall clock skips is due right after the
// skip, and a run at an hour that comes twice is due once. If the hour field is a star, runs stay one hour apart.
func (s Schedule) next(after time.Time) time.Time {
	at := s.cron.Next(after)
	if s.hourly {
		return at
	}
	for !at.IsZero() && repeated(at) {
		at = s.cron.Next(at)
	}
	if skipped, found := s.skipped(after, at); found {
		return skipped
	}
	return at
}

// offset returns the offset from UTC in seconds.
func offset(t time.Time) int {
	_, seconds := t.Zone()
	return seconds
}

// repeated reports whether the wall clock showed the same time before, until it was set back.
func repeated(t time.Time) bool {
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return false
	}
	back := offset(start.Add(-time.Second)) - offset(t)
	return back > 0 && t.Before(start.Add(time.Duration(back)*time.Second))
}

// skipped returns the first clock change between after and next that skips a run.
func (s Schedule) skipped(after, next time.Time) (time.Time, bool) {
	if next.IsZero() {
		return time.Time{}, false
	}
	for {
		_, change := after.ZoneBounds()
		if change.IsZero() || !change.Before(next) {
			return time.Time{}, false
		}
		if !change.After(after) {
			// Package time returns no later bound on the last day of a year that only a zone's rule covers.
			after = after.Add(48 * time.Hour)
			continue
		}
		change = change.In(s.zone)
		// unchanged continues the offset from before the change.
		unchanged := time.FixedZone("", offset(change.Add(-time.Second)))
		run := s.cron.Next(change.Add(-time.Second).In(unchanged))
		if ahead := offset(change) - offset(change.Add(-time.Second)); !run.IsZero() && run.Before(change.Add(time.Duration(ahead)*time.Second)) {
			return change, true
		}
		after = change
	}
}
