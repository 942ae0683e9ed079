package schedule

import "time"

// next follows the clock on the wall through the changes of daylight saving time as cron does: a run at a fixed
// hour that the clock skips is made when the clock has skipped it, and one at an hour that comes twice is made
// once. Where the hour is a star, runs go on by the hour.
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

// offset from UTC in seconds.
func offset(t time.Time) int {
	_, seconds := t.Zone()
	return seconds
}

// repeated says whether the wall clock showed the same an hour ago, before it was set back.
func repeated(t time.Time) bool {
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return false
	}
	back := offset(start.Add(-time.Second)) - offset(t)
	return back > 0 && t.Before(start.Add(time.Duration(back)*time.Second))
}

// skipped finds the first change of the clock after a time, and before the run that is next otherwise, that
// leaves a run out.
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
			// On the last day of years that only a rule covers, package time knows no end.
			after = after.Add(48 * time.Hour)
			continue
		}
		change = change.In(s.zone)
		// As if the clock had not been changed.
		unchanged := time.FixedZone("", offset(change.Add(-time.Second)))
		run := s.cron.Next(change.Add(-time.Second).In(unchanged))
		if ahead := offset(change) - offset(change.Add(-time.Second)); !run.IsZero() && run.Before(change.Add(time.Duration(ahead)*time.Second)) {
			return change, true
		}
		after = change
	}
}
