// Package schedule computes when runs are due: by a cron expression in a time zone, or at an interval. It only computes
// from the times that it is given and keeps no timer, so a restart changes nothing. It is the only importer of the cron
// library.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule computes when runs are due. The zero value has no runs.
type Schedule struct {
	every  time.Duration
	cron   *cron.SpecSchedule
	zone   *time.Location
	hourly bool // the hour field is a star
}

// Every returns a schedule whose runs are one interval apart, counted from the previous run.
func Every(interval time.Duration) Schedule { return Schedule{every: interval} }

// parser accepts the expressions of crontab(5), and descriptors such as @hourly and @daily.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse reads a cron expression of five fields and the name of a time zone. An empty name means UTC. The error tells the
// user what to write instead.
func Parse(expression, zone string) (Schedule, error) {
	location, err := Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	if strings.Contains(expression, "=") {
		return Schedule{}, fmt.Errorf("schedule %q contains a time zone: write the time zone into timeZone", expression)
	}
	if strings.HasPrefix(strings.TrimSpace(expression), "@every") {
		return Schedule{}, fmt.Errorf("schedule %q is an interval: use backupIntervalInSecond instead", expression)
	}
	parsed, err := parser.Parse(expression)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q is invalid: %w: write five fields (minute, hour, day, month, weekday 0-6), such as \"0 3 * * *\"", expression, err)
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Schedule{}, fmt.Errorf("schedule %q is invalid: write five fields, such as \"0 3 * * *\"", expression)
	}
	fields.Location = time.Local // tells the library to use the zone of Next's argument
	s := Schedule{cron: fields, zone: location, hourly: fields.Hour&starBit != 0}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return Schedule{}, fmt.Errorf("schedule %q is never due: there is no such date", expression)
	}
	return s, nil
}

// starBit is set by the library in a field that was a star.
const starBit = 1 << 63

// Zone returns a time zone by its name in the IANA database. An empty name means UTC. "Local" is an error, because it
// would depend on the machine that the operator runs on.
func Zone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New("timeZone Local depends on the machine: write the zone's name, such as Europe/Berlin")
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("timeZone %q is unknown: write a name of the IANA time zone data base, such as Europe/Berlin", name)
	}
	return location, nil
}

// Next returns when the first run after a time is due. It is zero if the schedule has no more runs.
func (s Schedule) Next(after time.Time) time.Time {
	switch {
	case s.cron != nil:
		return s.next(after.In(s.zone)).UTC()
	case s.every > 0:
		return after.Add(s.every)
	}
	return time.Time{}
}

// Last returns when the last run in the interval (after, now] was due, and false if none was. A caller that has missed
// several runs only makes up for this one.
func (s Schedule) Last(after, now time.Time) (time.Time, bool) {
	first := s.Next(after)
	if first.IsZero() || first.After(now) {
		return time.Time{}, false
	}
	if s.cron == nil {
		return first.Add(now.Sub(first) / s.every * s.every), true
	}
	// Look back from now in doubling steps: walking from first would take too long for years of runs by the minute.
	at := first
	for back := time.Minute; now.Add(-back).After(first); back *= 2 {
		if found := s.Next(now.Add(-back)); !found.IsZero() && !found.After(now) {
			at = found
			break
		}
	}
	for next := s.Next(at); !next.IsZero() && !next.After(now); next = s.Next(at) {
		at = next
	}
	return at, true
}

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
