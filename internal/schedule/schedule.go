// Package schedule says when runs are due: by five fields of cron in a time zone, or every so often. It computes
// from times that it is given and keeps no timer, so that a restart changes nothing. It is the only importer of the
// cron library.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule says when runs are due. The zero value never is.
type Schedule struct {
	every  time.Duration
	cron   *cron.SpecSchedule
	zone   *time.Location
	hourly bool // the field of the hour is a star
}

// Every is a run in each interval, counted from the run before.
func Every(interval time.Duration) Schedule { return Schedule{every: interval} }

// parser takes what crontab(5) takes, and @hourly, @daily and so on.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse reads five fields of cron and the name of a time zone, which is UTC where it is empty. The error says what
// to write instead.
func Parse(expression, zone string) (Schedule, error) {
	location, err := Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	if strings.Contains(expression, "=") {
		return Schedule{}, fmt.Errorf("schedule %q: write the time zone into timeZone", expression)
	}
	if strings.HasPrefix(strings.TrimSpace(expression), "@every") {
		return Schedule{}, fmt.Errorf("schedule %q: for an interval write backupIntervalInSecond", expression)
	}
	parsed, err := parser.Parse(expression)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w: write five fields (minute, hour, day, month, weekday 0-6), such as \"0 3 * * *\"", expression, err)
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Schedule{}, fmt.Errorf("schedule %q is not understood: write five fields, such as \"0 3 * * *\"", expression)
	}
	fields.Location = time.Local // the library's word for the zone of the time that is asked about
	s := Schedule{cron: fields, zone: location, hourly: fields.Hour&starBit != 0}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return Schedule{}, fmt.Errorf("schedule %q is never due: there is no such date", expression)
	}
	return s, nil
}

// starBit is the library's mark of a field that was a star.
const starBit = 1 << 63

// Zone finds a time zone by its name in the IANA data base; an empty name is UTC. "Local" is none, since it would
// say what the operator's machine is set to.
func Zone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New("timeZone Local: write the zone's name, such as Europe/Berlin")
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("timeZone %q is unknown: write a name of the IANA time zone data base, such as Europe/Berlin", name)
	}
	return location, nil
}

// Next is when the first run after a time is due; zero where none ever is.
func (s Schedule) Next(after time.Time) time.Time {
	switch {
	case s.cron != nil:
		return s.next(after.In(s.zone)).UTC()
	case s.every > 0:
		return after.Add(s.every)
	}
	return time.Time{}
}

// Last is when the last run that was due after one time and not after another was due; false where none was. Of
// any number of missed runs it is the one that is worth making.
func (s Schedule) Last(after, now time.Time) (time.Time, bool) {
	first := s.Next(after)
	if first.IsZero() || first.After(now) {
		return time.Time{}, false
	}
	if s.cron == nil {
		return first.Add(now.Sub(first) / s.every * s.every), true
	}
	// Looks back ever further, so that a schedule by the minute is not walked through for years.
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
