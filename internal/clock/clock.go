// Package clock decides what a stored time means. A process may have stored it while its clock was wrong, and may compare it with a
// clock that was set since. Apart from Server, which is handed answers of the API server, the package reads no clock.
//
// A stored time that is ahead of now by more than Tolerance comes from a clock that was ahead. It never lets something be done earlier, and
// delays nothing by more than the pause that is meant:
//
//   - A wait that began then counts from when this process first saw that time (Seen).
//   - What was planned for then is due (Due).
//   - What was done then counts as never done (Done).
package clock

import "time"

// Tolerance is how far two clocks may differ before that matters.
const Tolerance = time.Minute

// Ahead reports whether a stored time comes from a clock that was ahead.
func Ahead(at, now time.Time) bool { return at.After(now.Add(Tolerance)) }

// Differ reports whether two clocks differ, of which one is ahead of the other by so much.
func Differ(ahead time.Duration) bool { return ahead > Tolerance || ahead < -Tolerance }

// Elapsed returns how long ago a stored time was. It is 0 for one that is ahead of now.
func Elapsed(since, now time.Time) time.Duration { return max(now.Sub(since), 0) }

// Due reports whether a planned time has come. One that is later than after the longest pause comes from a clock that was ahead, and is
// due.
func Due(at time.Time, longest time.Duration, now time.Time) bool {
	return !now.Before(at) || Ahead(at, now.Add(longest))
}

// Done returns when something was last done. It is zero for a time that is ahead of now, so that it is done again, and its time stored
// again.
func Done(at, now time.Time) time.Time {
	if Ahead(at, now) {
		return time.Time{}
	}
	return at
}
